#include "compiler/document/network_document.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/ir/valid_names.h"
#include "edgekiln/v1/graph.pb.h"
#include "google/protobuf/arena.h"

namespace edgekiln::compiler {
namespace {

// As in PNG files: a transfer as text, which changes line ends, breaks it.
constexpr absl::string_view kMagic =
    "\x89"
    "EKN\r\n\x1a\n";
constexpr size_t kVersionAt = 8;
constexpr size_t kOriginBytesAt = 12;
constexpr size_t kGraphBytesAt = 16;
constexpr size_t kContentAt = 24;
constexpr size_t kHashBytes = 32;
constexpr uint64_t kMaxOriginBytes = uint64_t{1} << 16;
// What protobuf reads.
constexpr uint64_t kMaxGraphBytes = std::numeric_limits<int32_t>::max();
constexpr size_t kMaxNameBytes = 1024;  // As in requests.
constexpr int kMaxOps = 256;            // Several times those that exist.

void AppendNumber(uint64_t value, int bytes, std::string& out) {
  for (int i = 0; i < bytes; ++i) {
    out.push_back(static_cast<char>(value >> (8 * i)));
  }
}

uint64_t NumberAt(absl::string_view text, size_t at, int bytes) {
  uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; --i) {
    value = value << 8 | static_cast<uint8_t>(text[at + i]);
  }
  return value;
}

std::string HashOf(absl::string_view bytes) {
  return absl::HexStringToBytes(DigestOf(bytes).hash);
}

absl::Status Refuse(ErrorDetail detail) {
  detail.fault = Fault::kUser;
  if (detail.where.empty()) detail.where = "the network document";
  if (detail.fix.empty()) {
    detail.fix = "take network.ekn of a bundle, or compile from the model";
  }
  return MakeError(absl::StatusCode::kInvalidArgument, std::move(detail));
}

absl::Status Damaged(absl::string_view what, std::string limit = "",
                     std::string need = "") {
  return Refuse({.reason = "DOCUMENT_DAMAGED",
                 .what = std::string(what),
                 .limit = std::move(limit),
                 .need = std::move(need),
                 .fix = "fetch the file again, or compile from the model"});
}

absl::Status Invalid(std::string what, std::string limit = "") {
  return Refuse({.reason = "DOCUMENT_INVALID",
                 .what = std::move(what),
                 .limit = std::move(limit)});
}

// What later code relies on.
absl::Status CheckOrigin(const v1::NetworkOrigin& origin) {
  if (origin.model_name().size() > kMaxNameBytes) {
    return Invalid("the name of its model is too long",
                   absl::StrCat(kMaxNameBytes, " bytes"));
  }
  const Digest model = {origin.model().hash(), origin.model().size_bytes()};
  if (const absl::Status valid = ValidateDigest(model); !valid.ok()) {
    return Invalid("the digest of its model is not a digest");
  }
  if (origin.io() != v1::IO_INTEGER && origin.io() != v1::IO_FLOAT) {
    return Invalid(absl::StrCat("it has inputs and outputs of an unknown form ",
                                static_cast<int>(origin.io())));
  }
  const bool calibrated = origin.ranges() == v1::NetworkOrigin::SYNTHETIC ||
                          origin.ranges() == v1::NetworkOrigin::DATA;
  if (!calibrated && origin.ranges() != 0) {
    return Invalid(absl::StrCat("its ranges come from an unknown source ",
                                static_cast<int>(origin.ranges())));
  }
  // Without a source, ranges are those that the model came with.
  if (calibrated && !origin.has_quantized_for()) {
    return Invalid("it does not say what its ranges were used for");
  }
  const auto& ops = origin.quantized_for().per_tensor();
  bool long_name = false;
  for (const std::string& op : ops) {
    long_name = long_name || op.size() > kMaxNameBytes;
  }
  if (ops.size() > kMaxOps || long_name) {
    return Invalid(
        "its list of ops with one weight scale is too long",
        absl::StrCat(kMaxOps, " names of ", kMaxNameBytes, " bytes"));
  }
  return absl::OkStatus();
}

// The two parts of a document that is complete.
struct Parts {
  absl::string_view origin;
  absl::string_view graph;
};

absl::StatusOr<Parts> Split(absl::string_view document) {
  if (!absl::StartsWith(document, kMagic)) {
    return Refuse({.reason = "NOT_A_DOCUMENT",
                   .what = "the file is not a network document"});
  }
  if (document.size() < kContentAt + kHashBytes) {
    return Damaged("the document ends within its first bytes");
  }
  const uint64_t version = NumberAt(document, kVersionAt, 4);
  if (version != kNetworkDocumentVersion) {
    return Refuse(
        {.reason = "DOCUMENT_VERSION",
         .what = absl::StrCat("the document has format version ", version),
         .limit = absl::StrCat("this edgekiln reads version ",
                               kNetworkDocumentVersion),
         .fix = "compile from the model"});
  }
  const uint64_t origin = NumberAt(document, kOriginBytesAt, 4);
  const uint64_t graph = NumberAt(document, kGraphBytesAt, 8);
  if (origin > kMaxOriginBytes || graph > kMaxGraphBytes ||
      kContentAt + origin + graph + kHashBytes != document.size()) {
    return Damaged("the document is cut off, or longer than it says",
                   absl::StrCat(document.size(), " bytes"));
  }
  const size_t hashed = document.size() - kHashBytes;
  if (HashOf(document.substr(0, hashed)) != document.substr(hashed)) {
    return Damaged("the document is not what was written: its SHA-256 differs");
  }
  return Parts{document.substr(kContentAt, origin),
               document.substr(kContentAt + origin, graph)};
}

absl::StatusOr<Graph> ParseGraph(absl::string_view bytes) {
  google::protobuf::Arena arena;
  auto* const stored =
      google::protobuf::Arena::CreateMessage<v1::Graph>(&arena);
  if (!stored->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Invalid("its graph does not parse");
  }
  // Some would be kept and written again.
  stored->DiscardUnknownFields();
  absl::StatusOr<Graph> graph = GraphFromProto(*stored);
  if (graph.ok()) return graph;
  return Invalid(
      absl::StrCat("its graph is not valid: ", graph.status().message()));
}

// Of bytes that are exactly the stored form of a graph, with names as front
// ends make them: what this version does not know must not be dropped.
absl::StatusOr<Graph> ReadGraph(absl::string_view bytes) {
  EK_ASSIGN_OR_RETURN(Graph graph, ParseGraph(bytes));
  MakeNamesValid(graph);
  if (GraphToProto(graph).SerializeAsString() == bytes) return graph;
  return Invalid("its graph is not as this version of edgekiln writes graphs");
}

}  // namespace

absl::StatusOr<std::string> WriteNetworkDocument(
    const v1::NetworkOrigin& origin, absl::string_view graph_bytes) {
  const std::string header = origin.SerializeAsString();
  const absl::Status valid = CheckOrigin(origin);
  if (!valid.ok() || header.size() > kMaxOriginBytes ||
      graph_bytes.size() > kMaxGraphBytes) {
    return absl::InternalError(
        absl::StrCat("no document can be written: ", valid.message()));
  }
  std::string out;
  out.reserve(kContentAt + header.size() + graph_bytes.size() + kHashBytes);
  out.append(kMagic.data(), kMagic.size());
  AppendNumber(kNetworkDocumentVersion, 4, out);
  AppendNumber(header.size(), 4, out);
  AppendNumber(graph_bytes.size(), 8, out);
  out += header;
  out.append(graph_bytes.data(), graph_bytes.size());
  out += HashOf(out);
  return out;
}

absl::StatusOr<NetworkDocument> ReadNetworkDocument(
    absl::string_view document) {
  EK_ASSIGN_OR_RETURN(const Parts parts, Split(document));
  NetworkDocument out;
  out.graph_bytes = parts.graph;
  if (!out.origin.ParseFromArray(parts.origin.data(),
                                 static_cast<int>(parts.origin.size()))) {
    return Invalid("its header does not parse");
  }
  EK_RETURN_IF_ERROR(CheckOrigin(out.origin));
  // Unknown fields, or another order of the known ones.
  v1::NetworkOrigin known = out.origin;
  known.DiscardUnknownFields();
  if (known.SerializeAsString() != parts.origin) {
    return Invalid(
        "its header is not as this version of edgekiln writes headers");
  }
  EK_ASSIGN_OR_RETURN(out.graph, ReadGraph(parts.graph));
  return out;
}

}  // namespace edgekiln::compiler
