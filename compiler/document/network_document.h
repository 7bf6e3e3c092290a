#ifndef EK_COMPILER_DOCUMENT_NETWORK_DOCUMENT_H_
#define EK_COMPILER_DOCUMENT_NETWORK_DOCUMENT_H_

// The file network.ekn of a bundle: a network as it is before it is given to
// the engines of a chip, with what reports and manifests say of its origin. The
// format is in docs/bundle.md. Thread-safe.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/network.pb.h"

namespace edgekiln::compiler {

// Changes with the layout of the file, and with what a stored graph means.
inline constexpr int kNetworkDocumentVersion = 1;

// What was read; views borrow from the document.
struct NetworkDocument {
  v1::NetworkOrigin origin;
  absl::string_view graph_bytes;  // `graph`, as stages hand it on.
  Graph graph;
};

// The document of a graph, which `graph_bytes` hold as stages hand it on. Same
// arguments, same bytes. INTERNAL if `origin` is not complete.
absl::StatusOr<std::string> WriteNetworkDocument(
    const v1::NetworkOrigin& origin, absl::string_view graph_bytes);

// Reads what may come from anywhere. Exactly what WriteNetworkDocument() makes
// of a valid graph is accepted; anything else is the user's error, with reason
// NOT_A_DOCUMENT, DOCUMENT_VERSION, DOCUMENT_DAMAGED (not the bytes that were
// written) or DOCUMENT_INVALID.
absl::StatusOr<NetworkDocument> ReadNetworkDocument(absl::string_view document);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DOCUMENT_NETWORK_DOCUMENT_H_
