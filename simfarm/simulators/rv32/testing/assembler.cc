#include "simfarm/simulators/rv32/testing/assembler.h"

#include <elf.h>

#include <cstring>

namespace edgekiln::simfarm::rv32::testing {
namespace {

template <typename Record>
void Append(const Record& record, std::string* out) {
  out->append(reinterpret_cast<const char*>(&record), sizeof(record));
}

}  // namespace

Assembler& Assembler::Word(uint32_t instruction) {
  Append(instruction, &bytes_);
  return *this;
}

Assembler& Assembler::Half(uint32_t instruction) {
  Append(static_cast<uint16_t>(instruction), &bytes_);
  return *this;
}

Assembler& Assembler::Words(const std::vector<uint32_t>& instructions) {
  for (const uint32_t instruction : instructions) Word(instruction);
  return *this;
}

Assembler& Assembler::Li(uint32_t rd, uint32_t value) {
  // addi subtracts what its sign bit adds.
  const uint32_t upper = (value + 0x800) >> 12;
  Word(Lui(rd, upper & 0xfffff));
  return Word(Addi(rd, rd, static_cast<int32_t>(value - (upper << 12))));
}

Assembler& Assembler::JumpTo(uint32_t rd, uint32_t target) {
  return Word(Jal(rd, static_cast<int32_t>(target - here())));
}

void Assembler::Patch(uint32_t address, uint32_t instruction) {
  std::memcpy(bytes_.data() + (address - base_), &instruction, 4);
}

std::string BuildElf(uint32_t base, const std::string& bytes,
                     const std::vector<Function>& functions) {
  std::string names(1, '\0');
  std::string symbols(sizeof(Elf32_Sym), '\0');
  for (const Function& function : functions) {
    Elf32_Sym symbol = {};
    symbol.st_name = static_cast<Elf32_Word>(names.size());
    symbol.st_value = function.address;
    symbol.st_size = function.size_bytes;
    symbol.st_info = ELF32_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_shndx = 1;
    Append(symbol, &symbols);
    names += function.name;
    names += '\0';
  }
  constexpr int kSections = 4;  // None, code, symbols, names.
  const auto code_at =
      static_cast<uint32_t>(sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr));
  const auto symbols_at = static_cast<uint32_t>(code_at + bytes.size());
  const auto names_at = static_cast<uint32_t>(symbols_at + symbols.size());
  const auto sections_at = static_cast<uint32_t>(names_at + names.size());

  Elf32_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS32;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = 243;
  header.e_version = EV_CURRENT;
  header.e_entry = base;
  header.e_phoff = sizeof(Elf32_Ehdr);
  header.e_shoff = sections_at;
  header.e_ehsize = sizeof(Elf32_Ehdr);
  header.e_phentsize = sizeof(Elf32_Phdr);
  header.e_phnum = 1;
  header.e_shentsize = sizeof(Elf32_Shdr);
  header.e_shnum = kSections;

  Elf32_Phdr segment = {};
  segment.p_type = PT_LOAD;
  segment.p_offset = code_at;
  segment.p_vaddr = segment.p_paddr = base;
  segment.p_filesz = segment.p_memsz = static_cast<uint32_t>(bytes.size());
  segment.p_flags = PF_R | PF_W | PF_X;
  segment.p_align = 4;

  Elf32_Shdr sections[kSections] = {};
  sections[1].sh_type = SHT_PROGBITS;
  sections[1].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  sections[1].sh_addr = base;
  sections[1].sh_offset = code_at;
  sections[1].sh_size = static_cast<uint32_t>(bytes.size());
  sections[2].sh_type = SHT_SYMTAB;
  sections[2].sh_offset = symbols_at;
  sections[2].sh_size = static_cast<uint32_t>(symbols.size());
  sections[2].sh_link = 3;
  sections[2].sh_entsize = sizeof(Elf32_Sym);
  sections[3].sh_type = SHT_STRTAB;
  sections[3].sh_offset = names_at;
  sections[3].sh_size = static_cast<uint32_t>(names.size());

  std::string file;
  Append(header, &file);
  Append(segment, &file);
  file += bytes;
  file += symbols;
  file += names;
  for (const Elf32_Shdr& section : sections) Append(section, &file);
  return file;
}

}  // namespace edgekiln::simfarm::rv32::testing
