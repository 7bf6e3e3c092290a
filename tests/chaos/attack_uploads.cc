// Point 5: uploads. Begun and left, announced larger than any disk, and fed a
// byte at a time.

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "client/rpc_status.h"
#include "google/bytestream/bytestream.grpc.pb.h"
#include "tests/chaos/attack_calls.h"
#include "tests/chaos/attacker.h"

namespace edgekiln::chaos {
namespace {

using google::bytestream::ByteStream;
using google::bytestream::WriteRequest;
using google::bytestream::WriteResponse;

constexpr size_t kFirstBytes = size_t{16} << 10;
constexpr int kAbandoned = 40;  // At a time.
constexpr absl::Duration kBetween = absl::Milliseconds(500);
constexpr int kTrickles = 48;
constexpr absl::Duration kDrop = absl::Milliseconds(500);
// How long a trickle lasts.
constexpr int kDrops = 20;

// One ByteStream.Write that is not brought to its end.
class Stream {
 public:
  Stream(const std::shared_ptr<grpc::Channel>& channel, uint64_t id,
         int64_t announced_bytes)
      : writer_(ByteStream::NewStub(channel)->Write(&context_, &response_)) {
    Digest digest = DigestOf(absl::StrCat(id));  // Of other bytes; who knows?
    digest.size_bytes = announced_bytes;
    request_.set_resource_name(
        absl::StrCat("uploads/", id, "/blobs/", digest.ToString()));
  }

  // False if the daemon has ended the call.
  bool Send(size_t bytes) {
    request_.set_write_offset(sent_);
    request_.set_data(std::string(bytes, 'x'));
    sent_ += static_cast<int64_t>(bytes);
    const bool sent = writer_->Write(request_);
    request_.clear_resource_name();
    return sent;
  }

  // What the daemon says if asked to be content with what it has got.
  absl::Status End() {
    writer_->WritesDone();
    return client::FromGrpc(writer_->Finish());
  }

  void Abandon() {
    context_.TryCancel();
    writer_->Finish();
  }

 private:
  grpc::ClientContext context_;
  WriteResponse response_;
  WriteRequest request_;
  int64_t sent_ = 0;
  std::unique_ptr<grpc::ClientWriter<WriteRequest>> writer_;
};

void Trickle(Attack& attack, uint64_t seed) {
  Rng rng(seed);
  while (true) {
    const auto channel = OwnChannel(attack.target().address);
    std::vector<std::unique_ptr<Stream>> streams;
    for (int i = 0; i < kTrickles; ++i) {
      streams.push_back(
          std::make_unique<Stream>(channel, rng.Next(), int64_t{1} << 20));
    }
    for (int drop = 0; drop < kDrops; ++drop) {
      for (const auto& stream : streams) stream->Send(1);
      Attack::Pause(kDrop);
    }
    for (const auto& stream : streams) attack.Count(stream->End());
  }
}

}  // namespace

void AttackUploads(Attack& attack) {
  const uint64_t seed = attack.rng().Next();
  std::thread trickle([&attack, seed] { Trickle(attack, seed); });
  // More than a disk, more than any disk, almost all that may be announced.
  const int64_t oversized[] = {int64_t{1} << 42, int64_t{1} << 62,
                               (int64_t{2} << 30) - 1};
  while (true) {
    const auto channel = OwnChannel(attack.target().address);
    for (int i = 0; i < kAbandoned; ++i) {
      Stream stream(channel, attack.rng().Next(), int64_t{1} << 20);
      stream.Send(kFirstBytes);
      stream.Abandon();
      attack.CountSilent();
    }
    for (const int64_t bytes : oversized) {
      Stream stream(channel, attack.rng().Next(), bytes);
      stream.Send(kFirstBytes);
      attack.Count(stream.End());
    }
    Attack::Pause(kBetween);
  }
  trickle.join();
}

}  // namespace edgekiln::chaos
