#include <optional>
#include <string>

#include "base/error.h"
#include "compiler/document/network_document.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/graph_outline.h"
#include "compiler/ir/text.h"
#include "gtest/gtest.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {
namespace {

constexpr char kNetwork[] = R"(graph "small"
%x : int8[1,4] scale 0.5 zero -3 = input
%c : int8[1,4] scale 0.5 zero -3 = constant [1, 2, 3, 4]
%y : int8[1,4] scale 0.25 zero 0 = add(%x, %c) id add
return %y
)";

compiler::Graph Network() {
  absl::StatusOr<compiler::Graph> graph = compiler::ParseGraph(kNetwork);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : compiler::Graph();
}

std::string Stored() {
  return compiler::GraphToProto(Network()).SerializeAsString();
}

v1::NetworkOrigin Origin() {
  v1::NetworkOrigin origin;
  origin.set_model_name("net.onnx");
  origin.mutable_model()->set_hash(std::string(64, 'a'));
  origin.mutable_model()->set_size_bytes(7);
  origin.set_io(v1::IO_INTEGER);
  return origin;
}

std::string Document() {
  return compiler::WriteNetworkDocument(Origin(), Stored()).value_or("");
}

absl::StatusOr<StageOutput> Open(const std::string& document) {
  StageInputs inputs;
  inputs.Add("document", document);
  return RunOpenDocument(v1::OpenDocumentOptions(), inputs);
}

// partition and what follows are looked up by the digest of the graph.
TEST(OpenDocumentStageTest, GivesTheGraphThatWasWrittenByteForByte) {
  const auto opened = Open(Document());
  ASSERT_TRUE(opened.ok()) << opened.status();
  ASSERT_EQ(opened->blobs.size(), 2u);
  EXPECT_EQ(opened->blobs[0].first, "graph");
  EXPECT_EQ(opened->blobs[0].second, Stored());
  EXPECT_EQ(opened->blobs[1].first, "outline");
  EXPECT_EQ(opened->blobs[1].second,
            compiler::OutlineOf(Network()).SerializeAsString());
  EXPECT_EQ(opened->summary.network().SerializeAsString(),
            Origin().SerializeAsString());
}

TEST(OpenDocumentStageTest, WhatIsWrongIsTheUsersError) {
  const std::string document = Document();
  std::string flipped = document;
  flipped[flipped.size() / 2] ^= 1;
  std::string version = document;
  version[8] = 9;
  struct Case {
    std::string document;
    const char* reason;
  };
  const Case kCases[] = {
      {"", "NOT_A_DOCUMENT"},
      {"TFL3", "NOT_A_DOCUMENT"},
      {document.substr(0, document.size() / 2), "DOCUMENT_DAMAGED"},
      {flipped, "DOCUMENT_DAMAGED"},
      {version, "DOCUMENT_VERSION"},
      {compiler::WriteNetworkDocument(Origin(), "no graph").value_or(""),
       "DOCUMENT_INVALID"},
  };
  for (const Case& test : kCases) {
    const auto opened = Open(test.document);
    const std::optional<ErrorDetail> detail = GetErrorDetail(opened.status());
    ASSERT_TRUE(detail.has_value()) << opened.status();
    EXPECT_EQ(detail->fault, Fault::kUser) << opened.status();
    EXPECT_EQ(detail->reason, test.reason) << opened.status();
  }
}

}  // namespace
}  // namespace edgekiln::server
