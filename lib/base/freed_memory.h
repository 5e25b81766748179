// Decides what malloc does with freed memory, for the whole process. Used by jobs and by `roll serve`.
#pragma once

namespace roll {

/// Makes malloc keep freed memory. A training step on a CPU frees gigabytes and allocates them again; returned memory
/// would cost a page fault for every 4 KB.
void keep_freed_memory();

/// Makes malloc return freed memory to the system soon. By default it keeps ever larger blocks.
void return_freed_memory();

}  // namespace roll
