#include "server/daemon/http/exchange.h"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "edgekiln/v1/jobs.pb.h"
#include "server/daemon/http/byte_buffer.h"
#include "server/daemon/http/call_message.h"
#include "server/daemon/http/origin.h"
#include "server/daemon/http/pages.h"
#include "server/daemon/http/route.h"
#include "server/daemon/shutting_down.h"

namespace edgekiln::server {
namespace {

using google::protobuf::Message;
using google::protobuf::MethodDescriptor;

// A question about a model waits for a worker.
constexpr auto kCallTimeout = std::chrono::minutes(5);
constexpr size_t kStreamPieceBytes = 16 << 10;
// Of a body that is too large.
constexpr size_t kMaxDroppedBytes = 64 << 20;
constexpr int kMaxTextBytes = 256;

HttpAnswer Error(int code, absl::StatusCode status, const char* reason,
                 std::string what, std::string where, std::string fix) {
  return ErrorAnswer(MakeError(status, {.fault = Fault::kUser,
                                        .reason = reason,
                                        .what = std::move(what),
                                        .where = std::move(where),
                                        .fix = std::move(fix)}),
                     code);
}

HttpAnswer Status(absl::string_view status) {
  HttpAnswer answer;
  answer.body = absl::StrCat("{\"status\":\"", status, "\"}\n");
  return answer;
}

MHD_Result AddField(void* to, MHD_ValueKind, const char* key,
                    const char* value) {
  static_cast<HttpFields*>(to)->emplace_back(key,
                                             value == nullptr ? "" : value);
  return MHD_YES;
}

// What libmicrohttpd owns of a stream.
struct Owned {
  std::shared_ptr<EventStream> stream;
  MHD_Connection* connection;
  Live* live;
};

ssize_t TakeEvents(void* cls, uint64_t /*position*/, char* to, size_t max) {
  const Owned& owned = *static_cast<Owned*>(cls);
  const std::string bytes = owned.stream->Take(max);
  if (!bytes.empty()) {
    bytes.copy(to, bytes.size());
    return static_cast<ssize_t>(bytes.size());
  }
  if (owned.stream->Over()) return MHD_CONTENT_READER_END_OF_STREAM;
  MHD_suspend_connection(owned.connection);
  owned.stream->Await();
  return 0;
}

void FreeEvents(void* cls) {
  const std::unique_ptr<Owned> owned(static_cast<Owned*>(cls));
  owned->stream->Close();
  owned->live->Remove(owned->stream);
}

// A page of reports runs its own script, whose digest its <meta> policy names,
// and nothing else. It is no page of this origin, so that it can ask nothing.
constexpr char kReportPolicy[] =
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

// The file itself.
HttpAnswer FileAnswer(const v1::RenderedReport& rendered) {
  HttpAnswer answer;
  answer.body = rendered.content();
  answer.type = rendered.media_type();
  if (absl::StartsWith(answer.type, "text/html")) {
    answer.policy = kReportPolicy;
  } else {
    answer.file_name = rendered.file_name();
  }
  return answer;
}

void AddHeaders(MHD_Response* response, const std::string& type,
                const char* policy) {
  MHD_add_response_header(response, "Content-Type", type.c_str());
  MHD_add_response_header(response, "Cache-Control", "no-store");
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  MHD_add_response_header(response, "Cross-Origin-Resource-Policy",
                          "same-origin");
  MHD_add_response_header(response, "Content-Security-Policy", policy);
}

}  // namespace

Exchange::Exchange(ExchangeContext& context, MHD_Connection* connection,
                   std::string verb, std::string path)
    : context_(context),
      connection_(connection),
      verb_(std::move(verb)),
      path_(std::move(path)) {
  const MHD_ConnectionInfo* const head = MHD_get_connection_info(
      connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  if (head != nullptr) {
    context_.connections->HeadRead(connection, head->header_size);
  }
}

const char* Exchange::Header(const char* name) const {
  return MHD_lookup_connection_value(connection_, MHD_HEADER_KIND, name);
}

std::optional<HttpAnswer> Exchange::Refuse() {
  const absl::Status origin =
      CheckOrigin(Header("Host"), Header("Origin"), Header("Sec-Fetch-Site"),
                  context_.loopback);
  if (!origin.ok()) return ErrorAnswer(origin, 403);
  // libmicrohttpd searches lines among the chunks of a body again and again, as
  // it does heads (http_connections.h).
  if (Header("Transfer-Encoding") != nullptr) {
    return Error(411, absl::StatusCode::kInvalidArgument, "NO_LENGTH",
                 "the body comes in chunks, without its length",
                 "Transfer-Encoding",
                 "send Content-Length; with curl, -d @FILE in place of -T");
  }
  if (verb_ != "POST") return std::nullopt;
  const char* const type = Header("Content-Type");
  const absl::string_view media =
      type == nullptr
          ? ""
          : absl::StripAsciiWhitespace(absl::string_view(type).substr(
                0, absl::string_view(type).find(';')));
  if (!absl::EqualsIgnoreCase(media, "application/json")) {
    return Error(415, absl::StatusCode::kInvalidArgument, "NOT_JSON",
                 "the body must be JSON, and say so", "Content-Type",
                 "curl -H 'Content-Type: application/json' -d '{..}' URL");
  }
  const char* const length = Header("Content-Length");
  uint64_t bytes = 0;
  if (length != nullptr && absl::SimpleAtoi(length, &bytes) &&
      bytes > context_.max_body_bytes) {
    body_too_large_ = true;
  }
  if (bodies_too_large_) {
    return Error(503, absl::StatusCode::kUnavailable, "TOO_MANY_BODIES",
                 "too many requests are being read at once", path_,
                 "try again");
  }
  if (!body_too_large_) return std::nullopt;
  return Error(413, absl::StatusCode::kInvalidArgument, "BODY_TOO_LARGE",
               absl::StrCat("the body has more than ", context_.max_body_bytes,
                            " bytes"),
               path_, "upload large blobs with `edgekiln`, or by ByteStream");
}

void Exchange::Keep(absl::string_view piece) {
  body_too_large_ |= body_.size() + piece.size() > context_.max_body_bytes;
  if (body_too_large_ || bodies_too_large_) return DropBody();
  context_.bodies_bytes += piece.size();
  absl::StrAppend(&body_, piece);
  bodies_too_large_ = context_.bodies_bytes > context_.max_bodies_bytes;
}

void Exchange::DropBody() {
  context_.bodies_bytes -= body_.size();
  body_.clear();
  body_.shrink_to_fit();
}

MHD_Result Exchange::Continue(const char* data, size_t* size) {
  if (*size > 0) context_.connections->BodyRead(connection_, *size);
  switch (state_) {
    case State::kHead:
      state_ = State::kBody;
      if (const auto refused = Refuse()) return Send(*refused);
      return MHD_YES;
    case State::kBody:
      if (*size == 0) return Dispatch();
      Keep({data, *size});
      // Somebody who goes on for long does not wait for an answer.
      dropped_bytes_ += body_.empty() ? *size : 0;
      if (dropped_bytes_ > kMaxDroppedBytes) return MHD_NO;
      *size = 0;
      return MHD_YES;
    case State::kParsing:
      return Begin();
    case State::kCalling: {
      const MHD_Result sent = Send(answer_);
      answer_ = HttpAnswer();  // libmicrohttpd has its own copy.
      return sent;
    }
    case State::kAnswered:
      *size = 0;
      return MHD_YES;
  }
  return MHD_NO;
}

MHD_Result Exchange::Dispatch() {
  if (const auto refused = Refuse()) return Send(*refused);
  const bool reads = verb_ == "GET" || verb_ == "HEAD";
  if (reads && path_ == "/healthz") return Send(Status("ok"));
  if (reads && path_ == "/readyz") {
    const absl::Status ready = context_.ready();
    if (!ready.ok()) {
      return Send(ErrorAnswer(ready, 503));
    }
    return Send(Status("ready"));
  }
  if (const auto page = FindPage(path_); reads && page.has_value()) {
    return Send(*page);
  }
  RouteMatch match = FindRoute(verb_, path_);
  if (match.route != nullptr && context_.live.count() >= context_.max_live) {
    HttpAnswer answer =
        Error(503, absl::StatusCode::kUnavailable, "TOO_MANY_CALLS",
              "too many calls and streams are under way over HTTP", path_,
              "close pages that nobody looks at, and try again");
    answer.retry_seconds = 1;
    return Send(answer);
  }
  if (match.route == nullptr && !match.verbs.empty()) {
    HttpAnswer answer =
        Error(405, absl::StatusCode::kUnimplemented, "WRONG_METHOD",
              absl::StrCat(path_, " has no ", verb_), path_,
              absl::StrCat("use ", absl::StrJoin(match.verbs, " or ")));
    answer.allow = absl::StrJoin(match.verbs, ", ");
    return Send(answer);
  }
  method_ = match.route == nullptr ? nullptr : MethodNamed(match.route->method);
  if (method_ == nullptr) {
    return Send(Error(404, absl::StatusCode::kNotFound, "NO_SUCH_PATH",
                      "there is nothing at this path",
                      SanitizeText(path_, kMaxTextBytes),
                      "see docs/http.md, as /v1/jobs"));
  }
  HttpFields fields;
  MHD_get_connection_values(connection_, MHD_GET_ARGUMENT_KIND, AddField,
                            &fields);
  const char* const last =
      method_->server_streaming() ? Header("Last-Event-ID") : nullptr;
  if (last != nullptr) fields.emplace_back("after_sequence", last);
  // Last, so that a query does not ask for another than the path says.
  for (auto& field : match.fields) fields.push_back(std::move(field));
  if (body_.size() < kLargeJsonBytes) {
    Parse(fields);
    return Begin();
  }
  if (!context_.live.Add(&call_)) return Send(ErrorAnswer(ShuttingDown()));
  state_ = State::kParsing;
  context_.connections->Busy(connection_);
  MHD_suspend_connection(connection_);
  context_.json.Post(JsonWork::kParse, [this, fields = std::move(fields)] {
    Parse(fields);
    context_.live.Remove(&call_,
                         [c = connection_] { MHD_resume_connection(c); });
  });
  return MHD_YES;
}

void Exchange::Parse(const HttpFields& fields) {
  parsed_ = MakeRequest(*method_, fields, body_);
  DropBody();
}

MHD_Result Exchange::Begin() {
  if (!parsed_.ok()) return Send(ErrorAnswer(parsed_.status()));
  const std::unique_ptr<Message> request = *std::move(parsed_);
  return method_->server_streaming() ? Stream(*request) : Call(*request);
}

MHD_Result Exchange::Call(const Message& request) {
  if (!context_.live.Add(&call_)) return Send(ErrorAnswer(ShuttingDown()));
  state_ = State::kCalling;
  context_.connections->Busy(connection_);
  request_ = ToByteBuffer(request);
  call_.set_deadline(std::chrono::system_clock::now() + kCallTimeout);
  MHD_suspend_connection(connection_);
  context_.daemon->UnaryCall(
      &call_, PathOf(*method_), grpc::StubOptions(), &request_, &response_,
      [this](const grpc::Status& status) {
        const auto end = [this, status] {
          answer_ = AnswerOf(status);
          context_.live.Remove(&call_,
                               [c = connection_] { MHD_resume_connection(c); });
        };
        if (status.ok() && response_.Length() >= kLargeJsonBytes) {
          context_.json.Post(JsonWork::kWrite, end);
        } else {
          end();
        }
      });
  return MHD_YES;
}

HttpAnswer Exchange::AnswerOf(const grpc::Status& status) const {
  if (!status.ok()) {
    return context_.live.ending() ? ErrorAnswer(ShuttingDown())
                                  : ErrorAnswer(status);
  }
  const auto message = NewMessage(*method_->output_type());
  if (!FromByteBuffer(response_, *message)) {
    return ErrorAnswer(
        absl::InternalError("the daemon's answer cannot be read"));
  }
  if (message->GetDescriptor() == v1::RenderedReport::descriptor()) {
    return FileAnswer(static_cast<const v1::RenderedReport&>(*message));
  }
  HttpAnswer answer;
  answer.body = absl::StrCat(ToJson(*message), "\n");
  return answer;
}

MHD_Result Exchange::Stream(const Message& request) {
  if (!context_.live.StreamBegins()) {
    return Send(ErrorAnswer(ShuttingDown()));
  }
  context_.connections->Busy(connection_);
  auto owned = std::make_unique<Owned>();
  owned->connection = connection_;
  owned->live = &context_.live;
  owned->stream = StartEventStream(
      *context_.daemon, *method_, request,
      [c = connection_] { MHD_resume_connection(c); },
      [live = owned->live] { live->StreamEnded(); });
  context_.live.Add(owned->stream);
  MHD_Response* const response =
      MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, kStreamPieceBytes,
                                        &TakeEvents, owned.get(), &FreeEvents);
  if (response == nullptr) {
    FreeEvents(owned.release());
    return MHD_NO;
  }
  owned.release();  // FreeEvents() has it.
  AddHeaders(response, "text/event-stream", HttpAnswer().policy);
  state_ = State::kAnswered;
  const MHD_Result queued = MHD_queue_response(connection_, 200, response);
  MHD_destroy_response(response);
  return queued;
}

MHD_Result Exchange::Send(const HttpAnswer& answer) {
  state_ = State::kAnswered;
  context_.connections->Answering(connection_);
  MHD_Response* const response = MHD_create_response_from_buffer(
      answer.body.size(), const_cast<char*>(answer.body.data()),
      MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  AddHeaders(response, answer.type, answer.policy);
  if (!answer.file_name.empty()) {
    MHD_add_response_header(
        response, "Content-Disposition",
        absl::StrCat("attachment; filename=\"", answer.file_name, "\"")
            .c_str());
  }
  if (!answer.allow.empty()) {
    MHD_add_response_header(response, "Allow", answer.allow.c_str());
  }
  if (answer.retry_seconds > 0) {
    MHD_add_response_header(response, "Retry-After",
                            absl::StrCat(answer.retry_seconds).c_str());
  }
  const MHD_Result queued =
      MHD_queue_response(connection_, answer.code, response);
  MHD_destroy_response(response);
  return queued;
}

}  // namespace edgekiln::server
