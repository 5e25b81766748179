#include "base/freed_memory.h"

#include <malloc.h>

namespace roll {

void keep_freed_memory() {
  ::mallopt(M_MMAP_MAX, 0);         // else large blocks are mapped and unmapped each time
  ::mallopt(M_TRIM_THRESHOLD, -1);  // never
  ::mallopt(M_TOP_PAD, 64 << 20);
}

void return_freed_memory() {
  ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

}  // namespace roll
