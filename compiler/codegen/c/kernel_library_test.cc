#include "compiler/codegen/c/kernel_library.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "compiler/codegen/c/c_sources.h"
#include "compiler/codegen/c/testing/compiled_networks.h"
#include "compiler/ir/text.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

Graph GraphOf(const std::string& text) {
  absl::StatusOr<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

TEST(KernelLibraryTest, TheBuiltInKernelsAreValid) {
  const auto library = KernelLibrary::Parse("");
  ASSERT_TRUE(library.ok()) << library.status();
  const v1::CKernel& last = library->kernels().back();
  EXPECT_EQ(last.generator(), "plain");
  EXPECT_TRUE(last.ops().empty() && last.where().empty());
  for (const v1::CKernel& kernel : library->kernels()) {
    EXPECT_NE(kernel.cost().provenance(), v1::PROVENANCE_UNSPECIFIED)
        << kernel.name();
    EXPECT_NE(kernel.recipes().empty(), kernel.generator() != "plain")
        << kernel.name();
  }
}

TEST(KernelLibraryTest, WhatIsWrongIsNamed) {
  constexpr char kCost[] =
      "cost { instructions_expr: \"1\" code_bytes_expr: \"1\" }";
  const struct {
    const char* kernel;
    const char* error;
  } kCases[] = {
      {"name: \"a b\" generator: \"plain\"", "not a C identifier"},
      {"name: \"k\" generator: \"fast\"", "no generator is called fast"},
      {"name: \"k\" ops: \"konv\" generator: \"plain\"", "no op is called"},
      {"name: \"k\" where: \"depth == 1\" generator: \"plain\"", "depth"},
      {"name: \"k\" colour: 1", "colour"},
      {"name: \"k\" call { function: \"f\" }", "needs a header"},
      {"name: \"k\" call { function: \"f(\" header: \"h.h\" }", "identifier"},
      {"name: \"k\" call { function: \"f\" header: \"h\\\"\" }", "header"},
      {"name: \"k\" call { function: \"$f\" }", "no built-in text"},
      {"name: \"k\" call { function: \"f\" header: \"h.h\" arguments {} }",
       "no value"},
      {"name: \"k\" call { function: \"f\" header: \"h.h\" arguments { "
       "value_expr: \"1 +\" } }",
       "expression"},
      {"name: \"k\" call { function: \"f\" header: \"h.h\" arguments { fields "
       "{ "
       "type: \"int\" members { value_expr: \"1\" } } } }",
       "has no name"},
      {"name: \"k\" call { function: \"f\" header: \"h.h\" arguments { output: "
       "0 "
       "cast: \"int)(\" } }",
       "not a C type"},
  };
  for (const auto& row : kCases) {
    const auto library = KernelLibrary::Parse(
        absl::StrCat("kernels { ", row.kernel, " ", kCost, " }"));
    ASSERT_FALSE(library.ok()) << row.kernel;
    EXPECT_EQ(library.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(library.status().message(), row.error))
        << library.status();
  }
}

// Two functions of CMSIS-NN as an external library.
constexpr char kCmsis[] = R"pb(
  kernels {
    name: "cmsis_nn"
    recipes: KERNELS_UNSPECIFIED
    ops: "conv2d"
    in: INT8
    in2: INT8
    out: INT8
    where: "weights_constant * weight_zeros * factors"
    where: "(converter == 0) * (groups == 1) * (rounding == 0)"
    scratch_bytes_expr: "4 * in_c * kernel_h * kernel_w"
    call {
      function: "arm_convolve_wrapper_s8"
      header: "arm_nnfunctions.h"
      returns_status: true
      arguments {
        fields {
          type: "const cmsis_nn_context"
          by_address: true
          members { name: "buf" scratch: true }
          members { name: "size" value_expr: "scratch_bytes" }
        }
      }
      arguments {
        fields {
          type: "const cmsis_nn_conv_params"
          by_address: true
          members { name: "input_offset" value_expr: "-in_zero" }
          members { name: "output_offset" value_expr: "out_zero" }
          members {
            name: "stride"
            fields {
              members { name: "w" value_expr: "stride_w" }
              members { name: "h" value_expr: "stride_h" }
            }
          }
          members {
            name: "padding"
            fields {
              members { name: "w" value_expr: "pad_left" }
              members { name: "h" value_expr: "pad_top" }
            }
          }
          members {
            name: "dilation"
            fields {
              members { name: "w" value_expr: "dilation_w" }
              members { name: "h" value_expr: "dilation_h" }
            }
          }
          members {
            name: "activation"
            fields {
              members { name: "min" value_expr: "clamp_min" }
              members { name: "max" value_expr: "clamp_max" }
            }
          }
        }
      }
      arguments {
        fields {
          type: "const cmsis_nn_per_channel_quant_params"
          by_address: true
          members {
            name: "multiplier"
            cast: "int32_t *"
            per_channel { type: INT32 value_expr: "multiplier" }
          }
          members {
            name: "shift"
            cast: "int32_t *"
            per_channel { type: INT32 value_expr: "31 - n" }
          }
        }
      }
      arguments {
        fields {
          type: "const cmsis_nn_dims"
          by_address: true
          members { name: "n" value_expr: "batch" }
          members { name: "h" value_expr: "in_h" }
          members { name: "w" value_expr: "in_w" }
          members { name: "c" value_expr: "in_c" }
        }
      }
      arguments { input { index: 0 } }
      arguments {
        fields {
          type: "const cmsis_nn_dims"
          by_address: true
          members { name: "n" value_expr: "out_c" }
          members { name: "h" value_expr: "kernel_h" }
          members { name: "w" value_expr: "kernel_w" }
          members { name: "c" value_expr: "in_c" }
        }
      }
      arguments { input { index: 1 } }
      arguments {
        fields {
          type: "const cmsis_nn_dims"
          by_address: true
          members { name: "c" value_expr: "out_c" }
        }
      }
      arguments { input { index: 2 } }
      arguments {
        fields {
          type: "const cmsis_nn_dims"
          by_address: true
          members { name: "n" value_expr: "batch" }
          members { name: "h" value_expr: "out_h" }
          members { name: "w" value_expr: "out_w" }
          members { name: "c" value_expr: "out_c" }
        }
      }
      arguments { output: 0 }
    }
    cost {
      instructions_expr: "macs"
      code_bytes_expr: "120"
      provenance: ASSUMED
    }
  }
  kernels {
    name: "cmsis_nn"
    recipes: KERNELS_UNSPECIFIED
    ops: "fully_connected"
    in: INT8
    in2: INT8
    out: INT8
    where: "weights_constant * one_weight_zero * factors * one_factor"
    where: "(converter == 0) * (rounding == 0)"
    call {
      function: "arm_fully_connected_s8"
      header: "arm_nnfunctions.h"
      returns_status: true
      arguments {
        fields {
          type: "const cmsis_nn_context"
          by_address: true
          members { name: "buf" scratch: true }
          members { name: "size" value_expr: "scratch_bytes" }
        }
      }
      arguments {
        fields {
          type: "const cmsis_nn_fc_params"
          by_address: true
          members { name: "input_offset" value_expr: "-in_zero" }
          members { name: "filter_offset" value_expr: "-in2_zero" }
          members { name: "output_offset" value_expr: "out_zero" }
          members {
            name: "activation"
            fields {
              members { name: "min" value_expr: "clamp_min" }
              members { name: "max" value_expr: "clamp_max" }
            }
          }
        }
      }
      arguments {
        fields {
          type: "const cmsis_nn_per_tensor_quant_params"
          by_address: true
          members { name: "multiplier" value_expr: "multiplier" }
          members { name: "shift" value_expr: "31 - n" }
        }
      }
      arguments {
        fields {
          type: "const cmsis_nn_dims"
          by_address: true
          members { name: "n" value_expr: "in_w" }
          members { name: "c" value_expr: "in_c" }
        }
      }
      arguments { input { index: 0 } }
      arguments {
        fields {
          type: "const cmsis_nn_dims"
          by_address: true
          members { name: "n" value_expr: "in_c" }
          members { name: "c" value_expr: "out_c" }
        }
      }
      arguments { input { index: 1 } }
      arguments {
        fields {
          type: "const cmsis_nn_dims"
          by_address: true
          members { name: "c" value_expr: "out_c" }
        }
      }
      arguments { input { index: 2 } }
      arguments {
        fields {
          type: "const cmsis_nn_dims"
          by_address: true
          members { name: "n" value_expr: "out_w" }
          members { name: "c" value_expr: "out_c" }
        }
      }
      arguments { output: 0 }
    }
    cost { instructions_expr: "macs" code_bytes_expr: "80" provenance: ASSUMED }
  }
)pb";

// A convolution with padding, strides and factors by channel, one without a
// bias, and a fully connected layer.
constexpr char kNet[] = R"(graph "net"
%x : int8[1,5,4,2] scale 0.5 zero 3 = input
%w : int8[2,3,1,2] axis 0 scale [0.01, 0.03] zero [0, 0] = constant [1, -2, 3, 4, 5, 60, -7, 8, 9, 10, -11, 127]
%b : int32[2] axis 0 scale [0.005, 0.015] zero [0, 0] = constant [100, -50]
%a : int8[1,3,2,2] scale 0.25 zero -4 = conv2d(%x, %w, %b) {window {stride_h 2 stride_w 2 dilation_h 1 dilation_w 1 pad_top 1 pad_bottom 1} clamp {min 0}} id a
%v : int8[2,1,1,2] scale 0.02 zero 0 = constant [50, 2, -30, 4]
%c : int8[1,3,2,2] scale 0.1 zero 1 = conv2d(%a, %v) {window {stride_h 1 stride_w 1 dilation_h 1 dilation_w 1}} id c
%u : int8[3,4] scale 0.01 zero 0 = constant [10, 20, 30, 40, -50, 60, 70, -80, 90, 100, 110, 120]
%y : int8[3,3] scale 0.05 zero 2 = fully_connected(%c, %u) id y
return %y
)";

TEST(KernelLibraryTest, FunctionsOfAnExternalLibraryAreCalled) {
  const auto library = KernelLibrary::Parse(kCmsis);
  ASSERT_TRUE(library.ok()) << library.status();
  const Graph graph = GraphOf(kNet);
  auto sources = EmitC(graph, {.kernels = &*library});
  ASSERT_TRUE(sources.ok()) << sources.status();
  for (const CLayer& layer : sources->manifest.layers) {
    EXPECT_EQ(layer.kernel, "cmsis_nn") << layer.id;
  }
  const std::string& text = sources->files[1].text;
  EXPECT_TRUE(absl::StrContains(text, "#include \"arm_nnfunctions.h\"\n"));
  EXPECT_TRUE(absl::StrContains(text, ".padding = {.w = 0, .h = 1}")) << text;
  EXPECT_TRUE(absl::StrContains(text, "!= 0) return 1;"));
  std::vector<CNetwork> networks;
  networks.push_back({graph,
                      *std::move(sources),
                      {RandomInputs(graph, 1), RandomInputs(graph, 2)}});
  const absl::Status same = CompareWithInterpreter(
      networks, {.flags = absl::StrCat("-O1 -I", EK_CMSIS_NN_DIR)});
  EXPECT_TRUE(same.ok()) << same;
}

TEST(KernelLibraryTest, OtherProcessorsTakeSharesOfACost) {
  const auto scaled = KernelLibrary::Parse(
      R"(kernels { name: "plain" generator: "plain"
cost { instructions_expr: "1000" code_bytes_expr: "200"
scales { processors: RV32IMF instructions_percent: 10 code_percent: 150 }
scales { processors: X86_64 instructions_percent: 50 } } })");
  ASSERT_TRUE(scaled.ok()) << scaled.status();
  const struct {
    v1::Processor processor;
    int64_t instructions, code_bytes;
  } kCases[] = {{v1::RV32IMC, 1000, 200},
                {v1::RV32IMF, 100, 300},
                {v1::X86_64, 500, 200}};
  KernelFacts facts;
  facts.values.resize(KernelVariableNames().size());
  for (const auto& row : kCases) {
    const KernelCost cost =
        scaled->CostOf(scaled->kernels()[0], row.processor, facts);
    EXPECT_EQ(cost.instructions, row.instructions);
    EXPECT_EQ(cost.code_bytes, row.code_bytes);
  }
}

}  // namespace
}  // namespace edgekiln::compiler
