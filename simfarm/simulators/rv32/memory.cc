#include "simfarm/simulators/rv32/memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"

namespace edgekiln::simfarm::rv32 {
namespace {

absl::Status RegionError(std::string what, const MemoryRegion& region,
                         std::string limit = "") {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "RV32_MEMORY",
                    .what = std::move(what),
                    .where = absl::StrCat("memory ", region.name),
                    .limit = std::move(limit)});
}

absl::Status CheckRegion(const MemoryRegion& region) {
  if (region.size_bytes <= 0) return RegionError("size must be > 0", region);
  if (region.base % 4 != 0 || region.size_bytes % 4 != 0) {
    return RegionError("base and size must be multiples of 4", region);
  }
  if (region.size_bytes > kMaxMemoryBytes ||
      region.base + region.size_bytes > int64_t{1} << 32) {
    return RegionError("does not fit the address space", region,
                       absl::StrCat(kMaxMemoryBytes, " bytes, up to 2^32"));
  }
  if (region.read_wait_cycles < 0 || region.write_wait_cycles < 0 ||
      region.fetch_wait_cycles < 0) {
    return RegionError("wait cycles must not be negative", region);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Memory>> Memory::Create(
    std::vector<MemoryRegion> regions, bool checked) {
  int64_t total = 0;
  for (size_t i = 0; i < regions.size(); ++i) {
    const MemoryRegion& region = regions[i];
    if (absl::Status status = CheckRegion(region); !status.ok()) return status;
    for (size_t j = 0; j < i; ++j) {
      const MemoryRegion& other = regions[j];
      if (region.base < other.base + other.size_bytes &&
          other.base < region.base + region.size_bytes) {
        return RegionError(absl::StrCat("overlaps ", other.name), region);
      }
    }
    total += region.size_bytes;
    if (total > kMaxMemoryBytes) {
      return RegionError("too much memory in all", region,
                         absl::StrCat(kMaxMemoryBytes, " bytes"));
    }
  }
  auto memory = std::make_unique<Memory>();
  for (MemoryRegion& spec : regions) {
    auto region = std::make_unique<Region>();
    region->spec = std::move(spec);
    memory->max_wait_cycles_ = std::max<int64_t>(
        {memory->max_wait_cycles_, region->spec.read_wait_cycles,
         region->spec.write_wait_cycles});
    region->bytes = LazyBytes(region->spec.size_bytes);
    if (checked) region->defined = LazyBytes(region->spec.size_bytes);
    memory->regions_.push_back(std::move(region));
    Region& made = *memory->regions_.back();
    memory->SetLoadWindow(made);
    memory->SetStoreWindows(made);
  }
  return memory;
}

Window Memory::MakeWindow(const Region& region, uint32_t begin, uint32_t end,
                          int32_t wait_cycles) {
  if (begin >= end) return {};
  const uint32_t size = end - begin;
  return {.base = region.spec.base + begin,
          .limits = {size, size / 2, size / 4},
          .bytes = region.bytes.data() + begin,
          .defined = region.defined.size() == 0 ? nullptr
                                                : region.defined.data() + begin,
          .wait_cycles = wait_cycles};
}

void Memory::SetLoadWindow(Region& region) {
  if (!region.spec.readable) return;
  region.load =
      MakeWindow(region, 0, static_cast<uint32_t>(region.spec.size_bytes),
                 region.spec.read_wait_cycles);
}

void Memory::SetStoreWindows(Region& region) {
  if (!region.spec.writable) return;
  const int64_t size = region.spec.size_bytes;
  const auto clip = [&](int64_t offset) {
    return static_cast<uint32_t>(std::clamp<int64_t>(offset, 0, size));
  };
  // The two gaps, in order; each is rounded up to words.
  std::array<std::pair<uint32_t, uint32_t>, 2> gaps = {
      {{region.code_begin & ~3u, clip((int64_t{region.code_end} + 3) & ~3)},
       {clip(int64_t{guard_begin_} - region.spec.base),
        clip(int64_t{guard_end_} - region.spec.base)}}};
  std::sort(gaps.begin(), gaps.end());
  uint32_t begin = 0;
  for (int i = 0; i < 2; ++i) {
    region.stores[i] =
        MakeWindow(region, begin, gaps[i].first, region.spec.write_wait_cycles);
    begin = std::max(begin, gaps[i].second);
  }
  region.stores[2] = MakeWindow(region, begin, static_cast<uint32_t>(size),
                                region.spec.write_wait_cycles);
}

Memory::Region* Memory::Find(uint32_t address, int64_t size) {
  for (const auto& region : regions_) {
    const int64_t offset = int64_t{address} - region->spec.base;
    if (offset >= 0 && size <= region->spec.size_bytes - offset) {
      return region.get();
    }
  }
  return nullptr;
}

const Memory::Region* Memory::Find(uint32_t address, int64_t size) const {
  return const_cast<Memory*>(this)->Find(address, size);
}

AccessProblem Memory::FindLoad(uint32_t address, int width, Window** window) {
  *window = nullptr;
  if (address % static_cast<uint32_t>(width) != 0) {
    return AccessProblem::kMisaligned;
  }
  Region* region = Find(address, width);
  if (region == nullptr) return AccessProblem::kUnmapped;
  if (!region->spec.readable) return AccessProblem::kForbidden;
  *window = &region->load;
  return AccessProblem::kNone;
}

AccessProblem Memory::FindStore(uint32_t address, int width, Window** window) {
  *window = nullptr;
  const auto bytes = static_cast<uint32_t>(width);
  if (address % bytes != 0) return AccessProblem::kMisaligned;
  Region* region = Find(address, width);
  if (region == nullptr) return AccessProblem::kUnmapped;
  if (!region->spec.writable) return AccessProblem::kForbidden;
  if (address >= guard_begin_ && address < guard_end_) {
    return AccessProblem::kGuard;
  }
  for (Window& each : region->stores) {
    if (address - each.base < each.limits[0]) *window = &each;
  }
  return AccessProblem::kNone;
}

bool Memory::StoreAmongCode(uint32_t address, int width, uint32_t value) {
  Region& region = *Find(address, width);
  const uint32_t offset = address - region.spec.base;
  const auto bytes = static_cast<size_t>(width);
  std::memcpy(region.bytes.data() + offset, &value, bytes);
  if (region.defined.size() != 0) {
    std::memset(region.defined.data() + offset, 0xff, bytes);
  }
  if (region.code.size() == 0) return false;
  const uint32_t last = (offset + static_cast<uint32_t>(width) - 1) / 2;
  return region.code.data()[offset / 2] != 0 || region.code.data()[last] != 0;
}

AccessProblem Memory::FetchHalf(uint32_t address, uint32_t* half) const {
  const Region* region = Find(address, 2);
  if (region == nullptr) return AccessProblem::kUnmapped;
  if (!region->spec.executable) return AccessProblem::kForbidden;
  if (FindUndefined(address, 2).has_value()) return AccessProblem::kUndefined;
  uint16_t value = 0;
  std::memcpy(&value, region->bytes.data() + (address - region->spec.base), 2);
  *half = value;
  return AccessProblem::kNone;
}

int32_t Memory::fetch_wait_cycles(uint32_t address) const {
  const Region* region = Find(address, 1);
  return region == nullptr ? 0 : region->spec.fetch_wait_cycles;
}

void Memory::NoteCode(uint32_t begin, uint32_t end) {
  Region& region = *Find(begin, int64_t{end} - begin);
  if (!region.spec.writable) return;
  if (region.code.size() == 0) {
    region.code = LazyBytes(region.spec.size_bytes / 2);
  }
  const uint32_t from = begin - region.spec.base;
  const uint32_t to = end - region.spec.base;
  std::memset(region.code.data() + from / 2, 1, (to - from) / 2);
  const bool first = region.code_begin == region.code_end;
  const uint32_t code_begin = first ? from : std::min(from, region.code_begin);
  const uint32_t code_end = first ? to : std::max(to, region.code_end);
  if (code_begin == region.code_begin && code_end == region.code_end) return;
  region.code_begin = code_begin;
  region.code_end = code_end;
  SetStoreWindows(region);
}

void Memory::ForgetCode() {
  for (const auto& region : regions_) {
    if (region->code_begin == region->code_end) continue;
    std::memset(region->code.data() + region->code_begin / 2, 0,
                (region->code_end - region->code_begin + 1) / 2);
    region->code_begin = region->code_end = 0;
    SetStoreWindows(*region);
  }
}

void Memory::SetGuard(uint32_t begin, uint32_t end) {
  guard_begin_ = begin;
  guard_end_ = end;
  for (const auto& region : regions_) SetStoreWindows(*region);
}

absl::StatusOr<absl::string_view> Memory::Read(uint32_t address,
                                               int64_t size) const {
  const Region* region = size < 0 ? nullptr : Find(address, size);
  if (region == nullptr) {
    return MakeError(
        absl::StatusCode::kOutOfRange,
        {.reason = "RV32_MEMORY",
         .what = absl::StrCat("no memory holds these ", size, " bytes"),
         .where = Name(address)});
  }
  return absl::string_view(reinterpret_cast<const char*>(region->bytes.data()) +
                               (address - region->spec.base),
                           static_cast<size_t>(size));
}

absl::StatusOr<bool> Memory::Write(uint32_t address, absl::string_view bytes) {
  const auto size = static_cast<int64_t>(bytes.size());
  const auto target = Read(address, size);
  if (!target.ok()) return target.status();
  if (bytes.empty()) return false;
  Region& region = *Find(address, size);
  const uint32_t offset = address - region.spec.base;
  std::memcpy(region.bytes.data() + offset, bytes.data(), bytes.size());
  if (region.defined.size() != 0) {
    std::memset(region.defined.data() + offset, 0xff, bytes.size());
  }
  // Of read-only memory nobody keeps which part was decoded.
  if (!region.spec.writable) return region.spec.executable;
  if (region.code.size() == 0) return false;
  const uint8_t* first = region.code.data() + offset / 2;
  const uint8_t* end = region.code.data() + (offset + size + 1) / 2;
  return std::find(first, end, 1) != end;
}

std::optional<uint32_t> Memory::FindUndefined(uint32_t address,
                                              int64_t size) const {
  const Region* region = Find(address, size);
  if (region == nullptr || region->defined.size() == 0) return std::nullopt;
  const uint8_t* first = region->defined.data() + (address - region->spec.base);
  const uint8_t* found = std::find(first, first + size, 0);
  if (found == first + size) return std::nullopt;
  return address + static_cast<uint32_t>(found - first);
}

void Memory::Clear() {
  for (const auto& region : regions_) {
    region->bytes = LazyBytes(region->spec.size_bytes);
    if (region->defined.size() != 0) {
      region->defined = LazyBytes(region->spec.size_bytes);
    }
    region->code = {};
    region->code_begin = region->code_end = 0;
    SetLoadWindow(*region);
    SetStoreWindows(*region);
  }
}

std::string Memory::Name(uint32_t address) const {
  const MemoryRegion* region = FindRegion(address);
  if (region == nullptr) return absl::StrFormat("0x%08x", address);
  return absl::StrFormat("%s 0x%08x", region->name, address);
}

const MemoryRegion* Memory::FindRegion(uint32_t address) const {
  const Region* region = Find(address, 1);
  return region == nullptr ? nullptr : &region->spec;
}

}  // namespace edgekiln::simfarm::rv32
