#include "server/daemon/farm/quarantine.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "proto/convert.h"
#include "server/daemon/page_size.h"

namespace edgekiln::server {
namespace {

constexpr size_t kMaxPageBytes = 2 << 20;
constexpr int64_t kMaxFileBytes = 1 << 20;
constexpr int kKeptInputs = 64;
constexpr size_t kKeyDigits = 64;
constexpr size_t kMinIdDigits = 8;
constexpr size_t kShownDigits = 12;
// In front of a file's SHA-256, line feed and message.
constexpr char kMagic[] = "EKQUAR1\n";

bool IsHex(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
  });
}

bool IsKey(absl::string_view name) {
  return name.size() == kKeyDigits && IsHex(name);
}

absl::Time SinceOf(const v1::QuarantinedStage& stage) {
  return absl::FromUnixSeconds(stage.since().seconds()) +
         absl::Nanoseconds(stage.since().nanos());
}

absl::Status BadId(const std::string& id) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "BAD_QUARANTINE_ID",
                    .what = "not the id of a stage, nor enough of one",
                    .where = id,
                    .limit = absl::StrCat(kMinIdDigits, " to ", kKeyDigits,
                                          " digits (0-9, a-f)"),
                    .need = "an id as the list of the quarantine shows it",
                    .fix = "see edgekiln quarantine list"});
}

absl::Status NoSuchStage(const std::string& id) {
  return MakeError(absl::StatusCode::kNotFound,
                   {.fault = Fault::kUser,
                    .reason = "NOT_QUARANTINED",
                    .what = "no stage with this id is in quarantine",
                    .where = id,
                    .limit = "stages that were not released yet",
                    .need = "an id as the list of the quarantine shows it",
                    .fix = "see edgekiln quarantine list"});
}

}  // namespace

absl::StatusOr<std::unique_ptr<Quarantine>> Quarantine::Open(
    FileSystem& files, const std::string& folder, Logger& log) {
  std::unique_ptr<Quarantine> quarantine(new Quarantine(files, folder, log));
  EK_RETURN_IF_ERROR(quarantine->Load(), "quarantine");
  return quarantine;
}

std::string Quarantine::PathOf(const std::string& key) const {
  return JoinPath(folder_, key);
}

absl::Status Quarantine::Load() {
  const absl::StatusOr<std::vector<std::string>> names = files_.List(folder_);
  if (absl::IsNotFound(names.status())) return absl::OkStatus();
  EK_RETURN_IF_ERROR(names.status());
  MutexLock disk(disk_mutex_);
  MutexLock lock(mutex_);
  for (const std::string& name : *names) {
    const absl::StatusOr<std::string> bytes =
        files_.Read(PathOf(name), kMaxFileBytes);
    const absl::string_view all = bytes.ok() ? *bytes : absl::string_view();
    const size_t header = sizeof(kMagic) - 1 + kKeyDigits + 1;
    v1::QuarantinedStage stage;
    if (all.size() > header && absl::StartsWith(all, kMagic) &&
        all.substr(sizeof(kMagic) - 1, kKeyDigits) ==
            DigestOf(all.substr(header)).hash &&
        stage.ParseFromArray(all.data() + header,
                             static_cast<int>(all.size() - header)) &&
        stage.id() == name && IsKey(name)) {
      RemoveFiles(Insert(std::move(stage)));
      continue;
    }
    log_.Warning("removed from quarantine, as it cannot be read: ",
                 PathOf(name));
    files_.Remove(PathOf(name)).IgnoreError();
  }
  return absl::OkStatus();
}

std::vector<std::string> Quarantine::Insert(v1::QuarantinedStage stage) {
  if (const auto old = stages_.find(stage.id()); old != stages_.end()) {
    by_age_.erase({absl::ToUnixNanos(SinceOf(old->second)), stage.id()});
  }
  by_age_[{absl::ToUnixNanos(SinceOf(stage)), stage.id()}] = stage.id();
  const std::string id = stage.id();
  stages_[id] = std::move(stage);
  std::vector<std::string> gone;
  while (stages_.size() > kMaxStages) {
    gone.push_back(by_age_.begin()->second);
    by_age_.erase(by_age_.begin());
    stages_.erase(gone.back());
  }
  return gone;
}

void Quarantine::RemoveFiles(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    files_.Remove(PathOf(key)).IgnoreError();
  }
}

absl::Status Quarantine::Store(const v1::QuarantinedStage& stage) {
  EK_RETURN_IF_ERROR(files_.CreateDirectories(folder_));
  const std::string bytes = stage.SerializeAsString();
  return WriteAtomically(
      files_, PathOf(stage.id()),
      absl::StrCat(kMagic, DigestOf(bytes).hash, "\n", bytes));
}

absl::Status Quarantine::NotTried(const v1::QuarantinedStage& stage) {
  return MakeError(
      absl::StatusCode::kInternal,
      {.fault = Fault::kInfra,
       .reason = "INPUT_QUARANTINED",
       .what = absl::StrCat(
           "stage ", stage.stage(),
           " is not tried again with this input: ", stage.error().what()),
       .where = absl::StrCat("stage ", stage.stage()),
       .limit = stage.error().limit().empty()
                    ? absl::StrCat(
                          "quarantined since ",
                          absl::FormatTime("%Y-%m-%d %H:%M:%S UTC",
                                           SinceOf(stage), absl::UTCTimeZone()))
                    : stage.error().limit(),
       .need = "a stage that a worker can finish",
       .fix = absl::StrCat("report this with the model; to try again: edgekiln "
                           "quarantine release ",
                           stage.id().substr(0, kShownDigits))});
}

absl::Status Quarantine::Check(const std::string& key) const {
  MutexLock lock(mutex_);
  const auto found = stages_.find(key);
  if (found == stages_.end()) return absl::OkStatus();
  return NotTried(found->second);
}

void Quarantine::Add(v1::QuarantinedStage stage) {
  if (!IsKey(stage.id())) return;
  if (stage.inputs_size() > kKeptInputs) {
    stage.mutable_inputs()->DeleteSubrange(kKeptInputs,
                                           stage.inputs_size() - kKeptInputs);
  }
  log_.Warning("quarantined: ", NotTried(stage).message());
  MutexLock disk(disk_mutex_);
  std::vector<std::string> gone;
  {
    MutexLock lock(mutex_);
    gone = Insert(stage);
  }
  RemoveFiles(gone);
  if (const absl::Status stored = Store(stage); !stored.ok()) {
    log_.Error("quarantined until the next start only: ", stored.message());
  }
}

absl::StatusOr<v1::ListQuarantineResponse> Quarantine::List(
    const v1::ListQuarantineRequest& request) const {
  // The token names the last one of the page before: its time and key.
  Age before{INT64_MAX, ""};
  const std::string& token = request.page_token();
  const size_t dash = token.find('-');
  const bool good_token =
      token.empty() ||
      (dash != std::string::npos && IsKey(token.substr(dash + 1)) &&
       absl::SimpleAtoi(token.substr(0, dash), &before.first));
  EK_ASSIGN_OR_RETURN(const int wanted,
                      PageSize(request.page_size(), good_token,
                               "ListQuarantineRequest", "stages"));
  if (!token.empty()) before.second = token.substr(dash + 1);
  v1::ListQuarantineResponse page;
  size_t bytes = 0;
  MutexLock lock(mutex_);
  auto at = by_age_.lower_bound(before);
  while (at != by_age_.begin()) {
    if (page.stages_size() >= wanted || bytes > kMaxPageBytes) {
      page.set_next_page_token(
          absl::StrCat(at->first.first, "-", at->first.second));
      break;
    }
    --at;
    *page.add_stages() = stages_.at(at->second);
    bytes += page.stages(page.stages_size() - 1).ByteSizeLong();
  }
  return page;
}

absl::StatusOr<v1::QuarantinedStage> Quarantine::Find(
    const std::string& id) const {
  if (id.size() < kMinIdDigits || id.size() > kKeyDigits || !IsHex(id)) {
    return BadId(id);
  }
  const auto is_meant = [&](const v1::QuarantinedStage& stage) {
    return absl::StartsWith(stage.id(), id);
  };
  MutexLock lock(mutex_);
  const auto found = stages_.lower_bound(id);
  if (found == stages_.end() || !is_meant(found->second)) {
    const auto again =
        std::find_if(released_.rbegin(), released_.rend(), is_meant);
    if (again == released_.rend()) return NoSuchStage(id);
    return *again;
  }
  if (const auto next = std::next(found);
      next != stages_.end() && is_meant(next->second)) {
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.fault = Fault::kUser,
         .reason = "SEVERAL_QUARANTINED",
         .what = "several ids in quarantine begin with these digits",
         .where = id,
         .limit = "one stage at a time",
         .need = absl::StrCat(found->first, " or ", next->first),
         .fix = "give more digits"});
  }
  return found->second;
}

absl::StatusOr<v1::QuarantinedStage> Quarantine::Release(
    const std::string& id) {
  MutexLock disk(disk_mutex_);
  EK_ASSIGN_OR_RETURN(v1::QuarantinedStage stage, Find(id));
  {
    MutexLock lock(mutex_);
    // The same request came before; its answer was lost.
    if (!stages_.contains(stage.id())) return stage;
  }
  const absl::Status removed = files_.Remove(PathOf(stage.id()));
  if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
  if (removed.ok()) EK_RETURN_IF_ERROR(files_.SyncDirectory(folder_));
  {
    MutexLock lock(mutex_);
    by_age_.erase({absl::ToUnixNanos(SinceOf(stage)), stage.id()});
    stages_.erase(stage.id());
    released_.push_back(stage);
    if (released_.size() > kMaxReleased) released_.pop_front();
  }
  log_.Info("released from quarantine: ", stage.id());
  return stage;
}

}  // namespace edgekiln::server
