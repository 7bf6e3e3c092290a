#include "compiler/document/network_document.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/error.h"
#include "compiler/document/testing/sealed.h"
#include "compiler/ir/text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

constexpr char kNetwork[] = R"(graph "small"
%x : int8[1,4] scale 0.5 zero -3 = input
%c : int8[1,4] scale 0.5 zero -3 = constant [1, 2, 3, 4]
%y : int8[1,4] scale 0.25 zero 0 = add(%x, %c) id add
return %y
)";

v1::Graph Network() {
  const absl::StatusOr<Graph> graph = ParseGraph(kNetwork);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? GraphToProto(*graph) : v1::Graph();
}

v1::NetworkOrigin Origin() {
  v1::NetworkOrigin origin;
  origin.set_model_name("net.onnx");
  origin.mutable_model()->set_hash(std::string(64, 'a'));
  origin.mutable_model()->set_size_bytes(7);
  origin.set_io(v1::IO_FLOAT);
  origin.mutable_quantized_for()->add_per_tensor("conv2d");
  origin.mutable_quantized_for()->set_symmetric_activations(true);
  origin.set_ranges(v1::NetworkOrigin::DATA);
  return origin;
}

std::string Write(const v1::NetworkOrigin& origin, const std::string& graph) {
  const auto document = WriteNetworkDocument(origin, graph);
  EXPECT_TRUE(document.ok()) << document.status();
  return document.value_or("");
}

std::string Document() {
  return Write(Origin(), Network().SerializeAsString());
}

// Why it is refused; empty if it is not.
std::string ReasonFor(const std::string& document) {
  const auto read = ReadNetworkDocument(document);
  if (read.ok()) return "";
  const std::optional<ErrorDetail> detail = GetErrorDetail(read.status());
  if (!detail.has_value()) return std::string(read.status().message());
  EXPECT_EQ(detail->fault, Fault::kUser) << read.status();
  EXPECT_NE(detail->where, "") << read.status();
  EXPECT_NE(detail->fix, "") << read.status();
  return detail->reason;
}

TEST(NetworkDocumentTest, HoldsWhatWasWritten) {
  const std::string document = Document();
  const auto read = ReadNetworkDocument(document);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->origin.SerializeAsString(), Origin().SerializeAsString());
  EXPECT_EQ(read->graph_bytes, Network().SerializeAsString());
  EXPECT_EQ(GraphToProto(read->graph).SerializeAsString(), read->graph_bytes);
}

// docs/bundle.md, "The network document".
TEST(NetworkDocumentTest, LiesAsDocumented) {
  const std::string document = Document();
  const size_t origin = Origin().ByteSizeLong();
  const size_t graph = Network().ByteSizeLong();
  ASSERT_LT(origin, 256u);
  ASSERT_LT(graph, 256u);
  std::string head(
      "\x89"
      "EKN\r\n\x1a\n\x01\0\0\0",
      12);
  head += std::string({static_cast<char>(origin), 0, 0, 0});
  head += std::string({static_cast<char>(graph), 0, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(document.substr(0, 24), head);
  EXPECT_EQ(document.substr(24, origin), Origin().SerializeAsString());
  EXPECT_EQ(document.substr(24 + origin, graph), Network().SerializeAsString());
  EXPECT_EQ(document.size(), 24 + origin + graph + 32);
  EXPECT_EQ(document, Sealed(document));
}

TEST(NetworkDocumentTest, EveryBitCounts) {
  const std::string document = Document();
  for (size_t bit = 0; bit < 8 * document.size(); ++bit) {
    std::string damaged = document;
    damaged[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    const char* expected = bit < 64   ? "NOT_A_DOCUMENT"
                           : bit < 96 ? "DOCUMENT_VERSION"
                                      : "DOCUMENT_DAMAGED";
    ASSERT_EQ(ReasonFor(damaged), expected) << "bit " << bit;
  }
}

TEST(NetworkDocumentTest, EveryByteCounts) {
  const std::string document = Document();
  for (size_t size = 0; size < document.size(); ++size) {
    ASSERT_EQ(ReasonFor(document.substr(0, size)),
              size < 8 ? "NOT_A_DOCUMENT" : "DOCUMENT_DAMAGED")
        << size;
  }
  EXPECT_EQ(ReasonFor(document + '\0'), "DOCUMENT_DAMAGED");
}

TEST(NetworkDocumentTest, OtherVersionsAreNamed) {
  std::string document = Document();
  document[8] = 2;
  const auto read = ReadNetworkDocument(Sealed(document));
  EXPECT_THAT(std::string(read.status().message()),
              testing::AllOf(testing::HasSubstr("format version 2"),
                             testing::HasSubstr("reads version 1"),
                             testing::HasSubstr("compile from the model")));
}

// A sum of sizes that wraps around must not pass for the size of the file.
TEST(NetworkDocumentTest, SizesDoNotWrapAround) {
  std::string document = Document();
  for (size_t i = 12; i < 16; ++i) document[i] = '\xff';
  const uint64_t graph = document.size() - 24 - 32 - uint64_t{0xffffffff};
  for (size_t i = 0; i < 8; ++i) {
    document[16 + i] = static_cast<char>(graph >> (8 * i));
  }
  EXPECT_EQ(ReasonFor(Sealed(document)), "DOCUMENT_DAMAGED");
}

struct BadOrigin {
  const char* name;
  std::function<void(v1::NetworkOrigin&)> damage;
};

// Of a model that came quantized and was quantized anew.
TEST(NetworkDocumentTest, RangesMayBeThoseOfTheModel) {
  v1::NetworkOrigin origin = Origin();
  origin.clear_ranges();
  const auto document =
      WriteNetworkDocument(origin, Network().SerializeAsString());
  ASSERT_TRUE(document.ok()) << document.status();
  const auto read = ReadNetworkDocument(*document);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->origin.has_quantized_for());
}

TEST(NetworkDocumentTest, OriginsAreChecked) {
  const BadOrigin kCases[] = {
      {"long name", [](auto& o) { o.set_model_name(std::string(1025, 'n')); }},
      {"no model", [](auto& o) { o.clear_model(); }},
      {"hash", [](auto& o) { o.mutable_model()->set_hash("../../etc"); }},
      {"size", [](auto& o) { o.mutable_model()->set_size_bytes(-1); }},
      {"no form", [](auto& o) { o.clear_io(); }},
      {"unknown form", [](auto& o) { o.set_io(static_cast<v1::IoForm>(7)); }},
      {"unknown ranges",
       [](auto& o) {
         o.set_ranges(static_cast<v1::NetworkOrigin::Ranges>(7));
       }},
      {"ranges for nothing", [](auto& o) { o.clear_quantized_for(); }},
      {"many ops",
       [](auto& o) {
         for (int i = 0; i < 300; ++i) {
           o.mutable_quantized_for()->add_per_tensor("add");
         }
       }},
      {"long op",
       [](auto& o) {
         o.mutable_quantized_for()->add_per_tensor(std::string(1025, 'n'));
       }},
  };
  const std::string good = Document();
  const std::string graph = Network().SerializeAsString();
  for (const BadOrigin& test : kCases) {
    v1::NetworkOrigin origin = Origin();
    test.damage(origin);
    EXPECT_EQ(WriteNetworkDocument(origin, graph).status().code(),
              absl::StatusCode::kInternal)
        << test.name;
    const std::string header = origin.SerializeAsString();
    std::string document = good.substr(0, 12);
    for (int i = 0; i < 4; ++i) {
      document.push_back(static_cast<char>(header.size() >> (8 * i)));
    }
    document += std::string(8, '\0') + header + graph + std::string(32, '\0');
    EXPECT_EQ(ReasonFor(SealedWithSizes(document)), "DOCUMENT_INVALID")
        << test.name;
  }
}

struct BadGraph {
  const char* name;
  std::function<void(v1::Graph&)> damage;
};

TEST(NetworkDocumentTest, GraphsAreVerified) {
  const BadGraph kCases[] = {
      {"index", [](auto& g) { g.mutable_ops(0)->set_inputs(0, 99); }},
      {"negative index", [](auto& g) { g.set_outputs(0, -7); }},
      {"size of a constant",
       [](auto& g) { g.mutable_tensors(1)->set_data("abc"); }},
      {"huge shape",
       [](auto& g) {
         g.mutable_tensors(0)->mutable_type()->set_shape(1, int64_t{1} << 62);
       }},
      {"element type",
       [](auto& g) {
         g.mutable_tensors(0)->mutable_type()->set_element_type(
             static_cast<v1::ElementType>(99));
       }},
      {"rounding",
       [](auto& g) {
         g.mutable_ops(0)->mutable_attributes()->set_rounding(
             static_cast<v1::Rounding>(99));
       }},
      {"no op", [](auto& g) { g.mutable_ops(0)->clear_attributes(); }},
      {"id", [](auto& g) { g.mutable_ops(0)->set_id("a b"); }},
      {"scale",
       [](auto& g) {
         g.mutable_tensors(0)
             ->mutable_type()
             ->mutable_quantization()
             ->set_scale(0, -1);
       }},
      {"name",
       [](auto& g) {
         g.mutable_tensors(0)->mutable_type()->set_name("x\nmemory fake");
       }},
      // Unknown to this version: must not be dropped.
      {"unknown field",
       [](auto& g) {
         g.GetReflection()->MutableUnknownFields(&g)->AddVarint(99, 1);
       }},
      {"unknown attribute",
       [](auto& g) {
         auto& attributes = *g.mutable_ops(0)->mutable_attributes();
         attributes.GetReflection()
             ->MutableUnknownFields(&attributes)
             ->AddVarint(999, 1);
       }},
  };
  for (const BadGraph& test : kCases) {
    v1::Graph graph = Network();
    test.damage(graph);
    EXPECT_EQ(ReasonFor(Write(Origin(), graph.SerializeAsString())),
              "DOCUMENT_INVALID")
        << test.name;
  }
  EXPECT_EQ(ReasonFor(Write(Origin(), "no graph")), "DOCUMENT_INVALID");
}

TEST(NetworkDocumentTest, HeadersOfTheFutureAreRefused) {
  v1::NetworkOrigin origin = Origin();
  origin.GetReflection()->MutableUnknownFields(&origin)->AddVarint(99, 1);
  EXPECT_EQ(ReasonFor(Write(origin, Network().SerializeAsString())),
            "DOCUMENT_INVALID");
}

}  // namespace
}  // namespace edgekiln::compiler
