#include "input.h"
#include "job/hosts.h"

FUZZ(input) {
  const roll::fuzz::MemoryFile file(input);
  roll::fuzz::allow_refusal([&] { roll::num_slots(roll::read_hostfile(file.path())); });
}
