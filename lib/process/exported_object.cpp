#include "process/exported_object.h"

#include <elf.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace roll {

namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
#error "name the machine of ELF files here"
#endif

constexpr const char* kDamaged = "is damaged, or is not a plug-in of this program";

/// Bounds-checked reads from an ELF file. UserError: the range is outside the file.
class ElfFile {
 public:
  explicit ElfFile(const std::string& bytes) : bytes_(bytes) {}

  std::string_view part(uint64_t begin, uint64_t size) const {
    if (begin > bytes_.size() || size > bytes_.size() - begin) throw UserError(kDamaged);
    return bytes_.substr(begin, size);
  }
  template <class T>
  T read(uint64_t begin) const {
    T value;
    std::memcpy(&value, part(begin, sizeof value).data(), sizeof value);
    return value;
  }
  template <class T>
  std::vector<T> list(uint64_t begin, uint64_t size) const {
    part(begin, size);
    std::vector<T> items;
    for (uint64_t at = 0; at + sizeof(T) <= size; at += sizeof(T)) items.push_back(read<T>(begin + at));
    return items;
  }
  /// Returns the zero-terminated string at `at` of a string table.
  std::string_view text(const Elf64_Shdr& table, uint64_t at) const {
    const std::string_view strings = part(table.sh_offset, table.sh_size);
    return at < strings.size() ? strings.substr(at, strings.find('\0', at) - at) : std::string_view();
  }

 private:
  std::string_view bytes_;
};

std::vector<Elf64_Shdr> read_sections(const ElfFile& file, const std::string& bytes) {
  if (!bytes.starts_with(ELFMAG)) throw UserError("is not a shared library");
  const auto header = file.read<Elf64_Ehdr>(0);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kMachine || header.e_type != ET_DYN)
    throw UserError("is not a shared library for this machine");
  return file.list<Elf64_Shdr>(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
}

/// Returns `size` bytes at a virtual address. UserError: no section with data holds it.
std::string read_at_address(const ElfFile& file, const std::vector<Elf64_Shdr>& sections, uint64_t address,
                            size_t size) {
  for (const Elf64_Shdr& section : sections)
    if (section.sh_type == SHT_PROGBITS && address >= section.sh_addr && address - section.sh_addr < section.sh_size)
      return std::string(file.part(section.sh_offset + (address - section.sh_addr), size));
  throw UserError(kDamaged);
}

}  // namespace

std::optional<std::string> exported_object(const std::filesystem::path& library, const std::string& symbol,
                                           size_t size) {
  const std::string bytes = read_file(library);
  const ElfFile file(bytes);
  const std::vector<Elf64_Shdr> sections = read_sections(file, bytes);
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM || section.sh_link >= sections.size()) continue;
    for (const auto& entry : file.list<Elf64_Sym>(section.sh_offset, section.sh_size))
      if (entry.st_shndx != SHN_UNDEF && file.text(sections[section.sh_link], entry.st_name) == symbol)
        return read_at_address(file, sections, entry.st_value, size);
  }
  return std::nullopt;
}

}  // namespace roll
