#include "server/daemon/http/event_stream.h"

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "server/daemon/http/answer.h"
#include "server/daemon/http/byte_buffer.h"
#include "server/daemon/http/call_message.h"

namespace edgekiln::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;
using google::protobuf::OneofDescriptor;

// Of a reader that is slower than the events: then gRPC is not asked for more.
constexpr size_t kMaxWaitingBytes = 256 << 10;

// Whether a client that comes again may fare better.
bool IsPassing(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::CANCELLED ||
         status.error_code() == grpc::StatusCode::UNAVAILABLE ||
         status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
}

// "stage_started"; "message" without such a oneof.
std::string KindOf(const Message& message) {
  const OneofDescriptor* const kinds =
      message.GetDescriptor()->FindOneofByName("event");
  const FieldDescriptor* const set =
      kinds == nullptr
          ? nullptr
          : message.GetReflection()->GetOneofFieldDescriptor(message, kinds);
  return set == nullptr ? "message" : std::string(set->name());
}

std::string EventText(const Message& message) {
  std::string text;
  const FieldDescriptor* const sequence =
      message.GetDescriptor()->FindFieldByName("sequence");
  if (sequence != nullptr &&
      sequence->cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
    absl::StrAppend(&text, "id: ",
                    message.GetReflection()->GetInt64(message, sequence), "\n");
  }
  absl::StrAppend(&text, "event: ", KindOf(message),
                  "\ndata: ", ToJson(message), "\n\n");
  return text;
}

class GrpcEventStream final
    : public EventStream,
      public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
      public std::enable_shared_from_this<GrpcEventStream> {
 public:
  GrpcEventStream(grpc::GenericStub& stub, const MethodDescriptor& method,
                  const Message& request, std::function<void()> ready,
                  std::function<void()> done)
      : stub_(stub),
        method_(method),
        request_(ToByteBuffer(request)),
        done_(std::move(done)),
        ready_(std::move(ready)) {}

  void Start() {
    self_ = shared_from_this();
    stub_.PrepareBidiStreamingCall(&context_, PathOf(method_),
                                   grpc::StubOptions(), this);
    // Until the last read has failed: others are started from outside.
    AddHold();
    StartWriteLast(&request_, grpc::WriteOptions());
    StartRead(&message_);
    StartCall();
  }

  // Messages become text here, not in the threads that all calls of gRPC share.
  std::string Take(size_t max_bytes) override {
    while (text_.size() < max_bytes) {
      Item item;
      bool read_on = false;
      {
        MutexLock lock(mutex_);
        if (waiting_.empty()) break;
        item = std::move(waiting_.front());
        waiting_.pop_front();
        waiting_bytes_ -= item.bytes();
        read_on = paused_ && waiting_bytes_ < kMaxWaitingBytes;
        if (read_on) paused_ = false;
      }
      if (read_on) StartRead(&message_);
      absl::StrAppend(&text_, TextOf(item));
    }
    std::string bytes = text_.substr(0, max_bytes);
    text_.erase(0, bytes.size());
    return bytes;
  }

  bool Over() override {
    MutexLock lock(mutex_);
    return over_ && waiting_.empty() && text_.empty();
  }

  void Await() override {
    {
      MutexLock lock(mutex_);
      wanted_ = true;
    }
    Add({}, /*over=*/false);
  }

  void Ping() override { Add({.text = ":\n\n", .message = {}}, false); }

  void End() override {
    Cancel();
    MutexLock lock(mutex_);
    while (!over_ || telling_ > 0) changed_.Wait(lock);
  }

  void Close() override {
    {
      MutexLock lock(mutex_);
      ready_ = nullptr;
      waiting_.clear();
      waiting_bytes_ = 0;
      while (telling_ > 0) changed_.Wait(lock);
    }
    Cancel();
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      RemoveHold();
      return;
    }
    Item item;
    item.message.Swap(&message_);
    Add(std::move(item), /*over=*/false);
    {
      MutexLock lock(mutex_);
      paused_ = !cancelled_ && ready_ != nullptr &&
                waiting_bytes_ >= kMaxWaitingBytes;
      if (paused_) return;
    }
    StartRead(&message_);
  }

  void OnDone(const grpc::Status& status) override {
    std::string last;
    if (status.ok()) {
      last = "event: end\ndata: {}\n\n";
    } else if (!IsPassing(status)) {
      last =
          absl::StrCat("event: failed\ndata: ", ErrorAnswer(status).body, "\n");
    }
    Add({.text = std::move(last), .message = {}}, /*over=*/true);
    const std::function<void()> done = std::move(done_);
    self_.reset();  // It may be gone now.
    done();
  }

 private:
  // A message, or text as it is sent.
  struct Item {
    std::string text;
    grpc::ByteBuffer message;
    size_t bytes() const { return text.size() + message.Length(); }
  };

  std::string TextOf(const Item& item) const {
    if (!item.text.empty()) return item.text;
    const std::unique_ptr<Message> event = NewMessage(*method_.output_type());
    return FromByteBuffer(item.message, *event) ? EventText(*event) : "";
  }

  void Cancel() {
    bool read_on = false;
    {
      MutexLock lock(mutex_);
      cancelled_ = true;
      read_on = std::exchange(paused_, false);
    }
    context_.TryCancel();
    if (read_on) StartRead(&message_);
  }

  void Add(Item item, bool over) {
    MutexLock lock(mutex_);
    if (!over_ && item.bytes() > 0) {
      waiting_bytes_ += item.bytes();
      waiting_.push_back(std::move(item));
    }
    over_ = over_ || over;
    changed_.NotifyAll();
    if (!wanted_ || ready_ == nullptr || (waiting_.empty() && !over_)) return;
    wanted_ = false;
    ++telling_;
    const std::function<void()> ready = ready_;
    lock.Unlock();
    ready();
    lock.Lock();
    --telling_;
    changed_.NotifyAll();
  }

  grpc::GenericStub& stub_;
  const MethodDescriptor& method_;
  grpc::ClientContext context_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer message_;
  std::function<void()> done_;
  std::string text_;                       // Of whoever takes.
  std::shared_ptr<GrpcEventStream> self_;  // Until the call has ended.
  Mutex mutex_;
  CondVar changed_;
  std::function<void()> ready_ ABSL_GUARDED_BY(mutex_);
  std::deque<Item> waiting_ ABSL_GUARDED_BY(mutex_);  // To be taken.
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool wanted_ ABSL_GUARDED_BY(mutex_) = false;
  int telling_ ABSL_GUARDED_BY(mutex_) = 0;  // Threads in ready_.
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool paused_ ABSL_GUARDED_BY(mutex_) = false;  // No read is under way.
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

std::shared_ptr<EventStream> StartEventStream(grpc::GenericStub& stub,
                                              const MethodDescriptor& method,
                                              const Message& request,
                                              std::function<void()> ready,
                                              std::function<void()> done) {
  auto stream = std::make_shared<GrpcEventStream>(
      stub, method, request, std::move(ready), std::move(done));
  stream->Start();
  return stream;
}

}  // namespace edgekiln::server
