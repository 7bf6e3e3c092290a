#include "server/daemon/jobs/wal_check.h"

#include <bit>
#include <cstddef>
#include <fstream>
#include <vector>

namespace edgekiln::server {
namespace {

constexpr uint32_t kMagic = 0x377f0682;  // Or with the lowest bit set.
constexpr size_t kHeaderBytes = 32;
constexpr size_t kFrameHeaderBytes = 24;
constexpr uint32_t kMinPageBytes = 512;
constexpr uint32_t kMaxPageBytes = 65536;
// What SQLite would use, where the header does not say.
constexpr uint32_t kUsualPageBytes = 4096;

// Big-endian, as all fields are.
uint32_t FieldAt(const std::vector<char>& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

uint32_t Swapped(uint32_t value) {
  return value << 24 | (value & 0xff00) << 8 | (value >> 8 & 0xff00) |
         value >> 24;
}

// Over words in the byte order that the header names.
class Checksum {
 public:
  void Add(const std::vector<char>& bytes, size_t begin, size_t end) {
    for (size_t at = begin; at + 8 <= end; at += 8) {
      first_ += WordAt(bytes, at) + second_;
      second_ += WordAt(bytes, at + 4) + first_;
    }
  }
  bool Is(const std::vector<char>& bytes, size_t at) const {
    return FieldAt(bytes, at) == first_ && FieldAt(bytes, at + 4) == second_;
  }
  void SetBigEndian(bool big) { big_ = big; }

 private:
  uint32_t WordAt(const std::vector<char>& bytes, size_t at) const {
    const uint32_t word = FieldAt(bytes, at);
    return big_ ? word : Swapped(word);
  }

  bool big_ = false;
  uint32_t first_ = 0;
  uint32_t second_ = 0;
};

bool Fill(std::ifstream& file, std::vector<char>& bytes) {
  return file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))
      .good();
}

}  // namespace

WalCheck CheckWal(const std::string& path) {
  WalCheck found;
  std::ifstream file(path, std::ios::binary);
  std::vector<char> header(kHeaderBytes);
  if (!Fill(file, header)) return found;
  Checksum checksum;
  checksum.SetBigEndian((FieldAt(header, 0) & 1) != 0);
  checksum.Add(header, 0, 24);
  uint32_t page_bytes = FieldAt(header, 8);
  if (!std::has_single_bit(page_bytes) || page_bytes < kMinPageBytes ||
      page_bytes > kMaxPageBytes) {
    page_bytes = kUsualPageBytes;
  }
  bool sound = (FieldAt(header, 0) & ~1U) == kMagic && checksum.Is(header, 24);
  // Of the frames that belong together: behind them are those of earlier rounds
  // of the log, which have been copied into the database. Where the header is
  // damaged, the first frame has them.
  uint32_t salt[] = {FieldAt(header, 16), FieldAt(header, 20)};
  bool salt_known = sound;
  std::vector<char> frame(kFrameHeaderBytes + page_bytes);
  while (Fill(file, frame)) {
    const uint32_t own[] = {FieldAt(frame, 8), FieldAt(frame, 12)};
    if (!salt_known) {
      salt[0] = own[0];
      salt[1] = own[1];
      salt_known = true;
    }
    const bool belongs = own[0] == salt[0] && own[1] == salt[1];
    if (sound) {
      checksum.Add(frame, 0, 8);
      checksum.Add(frame, kFrameHeaderBytes, frame.size());
      sound = belongs && checksum.Is(frame, 16);
    }
    const bool commits = FieldAt(frame, 4) != 0;
    if (belongs && commits) ++(sound ? found.sound : found.lost);
  }
  return found;
}

}  // namespace edgekiln::server
