#include "tests/bench/bare_rpc.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "tests/bench/measure.h"

namespace edgekiln::bench {
namespace {

constexpr absl::string_view kReplyPrefix = "/bench.Bare/Reply/";
constexpr int kMaxMessageBytes = 64 << 20;

grpc::ByteBuffer ToBuffer(absl::string_view bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  return grpc::ByteBuffer(&slice, 1);
}

std::string ToString(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string out;
  if (!buffer.Dump(&slices).ok()) return out;
  for (const grpc::Slice& slice : slices) {
    out.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return out;
}

absl::Status FromGrpc(const grpc::Status& status) {
  return {static_cast<absl::StatusCode>(status.error_code()),
          status.error_message()};
}

// One call on the server; deletes itself when it is over.
class ServedCall {
 public:
  ServedCall(grpc::AsyncGenericService& service,
             grpc::ServerCompletionQueue& queue)
      : service_(service), queue_(queue), stream_(&context_) {
    service_.RequestCall(&context_, &stream_, &queue_, &queue_, this);
  }

  // The operation that was under way has ended.
  void Proceed(bool ok) {
    switch (state_) {
      case State::kWaiting:
        if (!ok) return delete this;
        new ServedCall(service_, queue_);
        state_ = State::kReading;
        hashes_ = context_.method() == kHashMethod;
        streams_ = hashes_ || context_.method() == kSinkMethod;
        return stream_.Read(&message_, this);
      case State::kReading:
        if (streams_ && ok) {
          if (hashes_) Hash();
          return stream_.Read(&message_, this);
        }
        state_ = State::kEnding;
        return stream_.WriteAndFinish(ToBuffer(Reply()), grpc::WriteOptions(),
                                      grpc::Status::OK, this);
      case State::kEnding:
        return delete this;
    }
  }

 private:
  enum class State { kWaiting, kReading, kEnding };

  void Hash() {
    std::vector<grpc::Slice> slices;
    if (!message_.Dump(&slices).ok()) return;
    for (const grpc::Slice& slice : slices) {
      hash_.Update(
          {reinterpret_cast<const char*>(slice.begin()), slice.size()});
    }
  }

  std::string Reply() {
    if (hashes_) return hash_.Finish().hash;
    int64_t bytes = 0;
    absl::string_view method(context_.method());
    if (!absl::StartsWith(method, kReplyPrefix) ||
        !absl::SimpleAtoi(method.substr(kReplyPrefix.size()), &bytes)) {
      bytes = 0;
    }
    return std::string(
        static_cast<size_t>(std::clamp<int64_t>(bytes, 0, kMaxMessageBytes)),
        'x');
  }

  grpc::AsyncGenericService& service_;
  grpc::ServerCompletionQueue& queue_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_;
  grpc::ByteBuffer message_;
  Sha256 hash_;
  bool hashes_ = false;
  bool streams_ = false;
  State state_ = State::kWaiting;
};

std::shared_ptr<grpc::Channel> NewChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // A connection of its own, not one shared within the process.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(),
                                   arguments);
}

}  // namespace

std::string ReplyMethod(int64_t bytes) {
  return absl::StrCat(kReplyPrefix, bytes);
}

int ServeBare(const std::string& port_file) {
  grpc::AsyncGenericService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.RegisterAsyncGenericService(&service);
  const auto queue = builder.AddCompletionQueue();
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  new ServedCall(service, *queue);
  {
    std::ofstream(port_file + ".part") << "127.0.0.1:" << port << "\n";
    std::rename((port_file + ".part").c_str(), port_file.c_str());
  }
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) static_cast<ServedCall*>(tag)->Proceed(ok);
  return 0;
}

// One of the calls in flight.
struct UnaryCall {
  std::unique_ptr<grpc::ClientContext> context;
  std::unique_ptr<grpc::ClientAsyncResponseReader<grpc::ByteBuffer>> reader;
  grpc::ByteBuffer reply;
  grpc::Status status;
};

struct UnaryClient::State {
  explicit State(const std::string& address)
      : channel(NewChannel(address)), stub(channel) {}
  // Calls that an error left behind still write into `calls`.
  ~State() {
    for (UnaryCall& call : calls) {
      if (call.context != nullptr) call.context->TryCancel();
    }
    queue.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue.Next(&tag, &ok)) {
    }
  }

  void Start(const std::string& method, const grpc::ByteBuffer& request,
             UnaryCall& call) {
    call.context = std::make_unique<grpc::ClientContext>();
    call.reply.Clear();
    call.reader =
        stub.PrepareUnaryCall(call.context.get(), method, request, &queue);
    call.reader->StartCall();
    call.reader->Finish(&call.reply, &call.status, &call);
  }

  absl::StatusOr<UnaryCall*> Next() {
    void* tag = nullptr;
    bool ok = false;
    if (!queue.Next(&tag, &ok) || !ok) {
      return absl::InternalError("the completion queue ended");
    }
    auto* const call = static_cast<UnaryCall*>(tag);
    EK_RETURN_IF_ERROR(FromGrpc(call->status));
    return call;
  }

  std::shared_ptr<grpc::Channel> channel;
  grpc::GenericStub stub;
  grpc::CompletionQueue queue;
  std::vector<UnaryCall> calls;
};

UnaryClient::UnaryClient(const std::string& address)
    : state_(std::make_unique<State>(address)) {}
UnaryClient::~UnaryClient() = default;

absl::StatusOr<std::string> UnaryClient::Call(const std::string& method,
                                              absl::string_view request) {
  state_->calls.resize(1);
  state_->Start(method, ToBuffer(request), state_->calls[0]);
  EK_ASSIGN_OR_RETURN(const UnaryCall* const call, state_->Next(), method);
  return ToString(call->reply);
}

absl::StatusOr<std::vector<double>> UnaryClient::Latencies(
    const std::string& method, absl::string_view request, int calls) {
  const grpc::ByteBuffer buffer = ToBuffer(request);
  std::vector<double> seconds;
  state_->calls.resize(1);
  for (int i = 0; i < calls; ++i) {
    const double start = WallSeconds();
    state_->Start(method, buffer, state_->calls[0]);
    EK_RETURN_IF_ERROR(state_->Next().status(), method);
    seconds.push_back(WallSeconds() - start);
  }
  return seconds;
}

absl::StatusOr<double> UnaryClient::Flood(const std::string& method,
                                          absl::string_view request, int calls,
                                          int in_flight) {
  const grpc::ByteBuffer buffer = ToBuffer(request);
  state_->calls.resize(static_cast<size_t>(in_flight));
  const double start = WallSeconds();
  int started = 0;
  for (UnaryCall& call : state_->calls) {
    state_->Start(method, buffer, call);
    ++started;
  }
  for (int done = 0; done < started; ++done) {
    EK_ASSIGN_OR_RETURN(UnaryCall* const call, state_->Next(), method);
    if (started >= calls) continue;
    state_->Start(method, buffer, *call);
    ++started;
  }
  return WallSeconds() - start;
}

absl::StatusOr<std::string> StreamBytes(const std::string& address,
                                        const std::string& method,
                                        absl::string_view bytes,
                                        int64_t message_bytes) {
  grpc::GenericStub stub(NewChannel(address));
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  void* tag = nullptr;
  bool ok = false;
  const auto done = [&] { return queue.Next(&tag, &ok) && ok; };
  const auto stream = stub.PrepareCall(&context, method, &queue);
  stream->StartCall(nullptr);
  bool good = done();
  const auto step = static_cast<size_t>(message_bytes);
  for (size_t at = 0; good && at < bytes.size(); at += step) {
    stream->Write(ToBuffer(bytes.substr(at, step)), nullptr);
    good = done();
  }
  grpc::ByteBuffer reply;
  if (good) {
    stream->WritesDone(nullptr);
    good = done();
  }
  if (good) {
    stream->Read(&reply, nullptr);
    good = done();
  }
  grpc::Status status;
  stream->Finish(&status, nullptr);
  queue.Next(&tag, &ok);
  queue.Shutdown();
  EK_RETURN_IF_ERROR(FromGrpc(status));
  if (!good) return absl::InternalError("the stream broke");
  return ToString(reply);
}

}  // namespace edgekiln::bench
