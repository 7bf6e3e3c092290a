#ifndef EK_SERVER_WORKER_STAGE_IO_H_
#define EK_SERVER_WORKER_STAGE_IO_H_

// What goes into a stage and what comes out of it, by value.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/checked_math.h"
#include "base/digest.h"
#include "edgekiln/v1/stage.pb.h"
#include "google/protobuf/arena.h"
#include "server/worker/warm_cache.h"

namespace edgekiln::server {

// Fetches inputs of one lease that a stage turns out to need.
class InputSource {
 public:
  virtual ~InputSource() = default;
  // Bytes of the inputs at these positions of the lease; they live as long as
  // the source, which has them at hand when they are asked for again.
  virtual absl::StatusOr<std::vector<absl::string_view>> Get(
      const std::vector<int>& positions) = 0;
};

// Blobs by role, in the order of the lease. Views borrow from the owner of the
// bytes. A missing or unreadable input is a bug of ours: INTERNAL. Also errors
// of the source.
class StageInputs {
 public:
  StageInputs() = default;
  // For inputs that are added by name. `source` and `warm` must outlive this;
  // without `warm`, nothing that stages prepare is kept. The stage may use
  // `memory_limit_bytes`; 0 = unlimited.
  StageInputs(InputSource* source, WarmCache* warm,
              int64_t memory_limit_bytes = 0, std::string scratch_folder = "")
      : source_(source),
        warm_(warm),
        memory_limit_bytes_(memory_limit_bytes),
        scratch_folder_(std::move(scratch_folder)) {}

  // The next input of the lease, by value; borrowed.
  void Add(std::string role, absl::string_view bytes) {
    blobs_.push_back({std::move(role), bytes, std::nullopt});
  }
  // The same by name: its bytes come from the source once a stage reads them.
  void Add(std::string role, Digest digest) {
    blobs_.push_back({std::move(role), std::nullopt, std::move(digest)});
  }

  bool Has(absl::string_view role) const;
  // The only blob with that role.
  absl::StatusOr<absl::string_view> One(absl::string_view role) const;
  // All blobs with that role; may be empty.
  absl::StatusOr<std::vector<absl::string_view>> All(
      absl::string_view role) const;

  // Brings all blobs with these roles at once, where they come from a source:
  // for a stage that surely reads them, as each round trip to the source costs
  // as much as a small stage.
  absl::Status Fetch(std::initializer_list<absl::string_view> roles) const;

  // The only blob with that role, as a message.
  template <typename Message>
  absl::StatusOr<Message> Parse(absl::string_view role) const {
    const absl::StatusOr<absl::string_view> bytes = One(role);
    if (!bytes.ok()) return bytes.status();
    return ParseBytes<Message>(role, *bytes);
  }
  // The same of a message of many parts, which are made and dropped at once.
  template <typename Message>
  absl::StatusOr<std::shared_ptr<const Message>> ParseLarge(
      absl::string_view role) const {
    return ParseInArena<Message>(role);
  }
  // The same, kept for the stages that come next (see Prepared()). Where it
  // must be fetched, so are the inputs `roles`.
  template <typename Message>
  absl::StatusOr<std::shared_ptr<const Message>> ParseOnce(
      absl::string_view role,
      std::initializer_list<absl::string_view> roles = {}) const {
    const auto parse = [&]() -> absl::StatusOr<std::shared_ptr<Message>> {
      const absl::Status fetched = Fetch(roles);
      if (!fetched.ok()) return fetched;
      return ParseInArena<Message>(role);
    };
    return Prepared<Message>({role}, "", parse, kParsedSpread);
  }
  template <typename Message>
  absl::StatusOr<std::vector<Message>> ParseAll(absl::string_view role) const {
    const absl::StatusOr<std::vector<absl::string_view>> all = All(role);
    if (!all.ok()) return all.status();
    std::vector<Message> messages;
    for (const absl::string_view bytes : *all) {
      absl::StatusOr<Message> message = ParseBytes<Message>(role, bytes);
      if (!message.ok()) return message.status();
      messages.push_back(*std::move(message));
    }
    return messages;
  }

  // The user's error (worker_limits.h) if `need_bytes`, which `what` surely
  // takes at one time, are more than the stage may use: said before the memory
  // is filled.
  absl::Status CheckMemory(std::optional<int64_t> need_bytes,
                           absl::string_view what) const;
  int64_t memory_limit_bytes() const { return memory_limit_bytes_; }
  // Where a stage that runs programs may make files; empty: nowhere, or
  // wherever files of the moment lie.
  const std::string& scratch_folder() const { return scratch_folder_; }

  // What `make` returns, an absl::StatusOr<std::shared_ptr<T>>, or what it
  // returned to an earlier stage, which may have used it since: a memo of
  // `make`, which must be a pure function of the bytes of the inputs with these
  // roles and of `variant`. A warm stage reads none of those inputs. With
  // `spread`, what is kept counts as that many times the size of the inputs;
  // without, as what it added to the heap.
  template <typename T, typename Make>
  absl::StatusOr<std::shared_ptr<T>> Prepared(
      std::initializer_list<absl::string_view> roles, absl::string_view variant,
      const Make& make, std::optional<int64_t> spread = std::nullopt) const {
    if (warm_ == nullptr) return make();
    std::string key(variant);
    int64_t bytes = 0;
    for (const absl::string_view role : roles) AppendName(role, key, bytes);
    return warm_->GetOrMake<T>(
        key, bytes, make,
        spread.has_value() ? CheckedMul(*spread, bytes) : std::nullopt);
  }

 private:
  // What most parsed messages take in memory for each byte on the wire, or
  // less.
  static constexpr int64_t kParsedSpread = 16;

  struct Blob {
    std::string role;
    std::optional<absl::string_view> bytes;  // Either this
    std::optional<Digest> digest;            // or this.
  };

  template <typename Message>
  static absl::StatusOr<Message> ParseBytes(absl::string_view role,
                                            absl::string_view bytes) {
    Message message;
    if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return DoesNotParse(role);
    }
    return message;
  }
  template <typename Message>
  absl::StatusOr<std::shared_ptr<Message>> ParseInArena(
      absl::string_view role) const {
    const absl::StatusOr<absl::string_view> bytes = One(role);
    if (!bytes.ok()) return bytes.status();
    google::protobuf::ArenaOptions options;
    options.max_block_size = size_t{1} << 16;
    auto arena = std::make_shared<google::protobuf::Arena>(options);
    auto* const message =
        google::protobuf::Arena::CreateMessage<Message>(arena.get());
    if (!message->ParseFromArray(bytes->data(),
                                 static_cast<int>(bytes->size()))) {
      return DoesNotParse(role);
    }
    return std::shared_ptr<Message>(std::move(arena), message);
  }
  static absl::Status DoesNotParse(absl::string_view role) {
    return absl::InternalError(
        absl::StrCat("stage input '", role, "' does not parse"));
  }
  // Adds role and digests of all blobs with that role to `key`, and their sizes
  // to `bytes`.
  void AppendName(absl::string_view role, std::string& key,
                  int64_t& bytes) const;

  InputSource* source_ = nullptr;
  WarmCache* warm_ = nullptr;
  int64_t memory_limit_bytes_ = 0;
  std::string scratch_folder_;
  std::vector<Blob> blobs_;
};

struct StageOutput {
  std::vector<std::pair<std::string, std::string>> blobs;  // Role, bytes.
  v1::StageSummary summary;
  std::vector<std::string> warnings;
  // Sizes of all that was added, also of messages that are too large to be.
  int64_t added_bytes = 0;

  void Add(std::string role, std::string bytes) {
    added_bytes += static_cast<int64_t>(bytes.size());
    blobs.emplace_back(std::move(role), std::move(bytes));
  }
  void Add(std::string role, const google::protobuf::MessageLite& message) {
    const size_t size = message.ByteSizeLong();
    if (size > std::numeric_limits<int32_t>::max()) {
      added_bytes += static_cast<int64_t>(size);
      return;
    }
    std::string bytes(size, '\0');
    message.SerializeWithCachedSizesToArray(
        reinterpret_cast<uint8_t*>(bytes.data()));
    Add(std::move(role), std::move(bytes));
  }
};

// Called from the stage's thread, as often as the stage likes.
using ProgressSink = std::function<void(const v1::StageProgress&)>;

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_STAGE_IO_H_
