#ifndef EK_COMPILER_CODEGEN_C_TESTING_OP_MAKER_H_
#define EK_COMPILER_CODEGEN_C_TESTING_OP_MAKER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.h"
#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// One random op: its attributes, and inputs and outputs added to a graph.
// Types and shapes need not fit; VerifyGraph() says.
class OpMaker {
 public:
  OpMaker(Graph& graph, Rng& random, v1::ElementType type)
      : graph_(graph), random_(random), type_(type) {
    quantized_ = (type == v1::INT8 || type == v1::UINT8 || type == v1::INT16) &&
                 Below(4) != 0;
  }

  // False for an unknown kind.
  bool Make(const std::string& kind);

 private:
  using Shape = std::vector<int64_t>;

  int64_t Below(int64_t n) {
    return static_cast<int64_t>(random_.Below(static_cast<uint64_t>(n)));
  }
  bool OneOf(int64_t n) { return Below(n) == 0; }
  Shape RandomShape(int64_t rank, int64_t most = 4);

  TensorId AddTensor(Shape shape, v1::ElementType type, bool quantized,
                     const std::string& name = "t");
  TensorId Input(Shape shape, const std::string& name = "t") {
    return InputOf(std::move(shape), type_, quantized_, name);
  }
  TensorId InputOf(Shape shape, v1::ElementType type, bool quantized,
                   const std::string& name = "t");
  // With random data.
  TensorId ConstantOf(Shape shape, v1::ElementType type, bool quantized);
  // An input or a constant.
  TensorId Either(Shape shape);
  TensorId Indices(Shape shape, int64_t extent);
  void PerChannel(TensorId id, int64_t channels, int32_t axis);
  void SameQuantization(TensorId from, TensorId to);

  // Adds the op; shapes of outputs are inferred. `moves`: outputs have the
  // quantization of input `moves` - 1.
  void Emit(std::vector<TensorId> inputs, int moves = 0,
            v1::ElementType output_type = v1::ELEMENT_TYPE_UNSPECIFIED);
  void EmitShaped(std::vector<TensorId> inputs, std::vector<Shape> shapes,
                  int moves, v1::ElementType output_type);
  Tensor& Of(TensorId id) { return graph_.tensors[id]; }

  void RandomClamp(v1::Clamp* clamp);
  v1::Window2d Window2d();
  v1::Window Window(int64_t dims);
  void RandomRounding();

  bool MakeDot(const std::string& kind);
  bool MakeConvolution(const std::string& kind);
  bool MakePool(const std::string& kind);
  bool MakeElementwise(const std::string& kind);
  bool MakeBinary(const std::string& function);
  bool MakeMovement(const std::string& kind);
  bool MakeIndexed(const std::string& kind);
  bool MakeReduction(const std::string& kind);
  bool MakeNormalization(const std::string& kind);
  bool MakeResize();
  bool MakeRecurrent(const std::string& kind);
  void MakeLstm();
  void MakeGruOrRnn(bool gru);
  void MakeSvdf();
  std::vector<TensorId> WeightsAndBias(Shape weights, int32_t axis);
  v1::CellActivation RandomActivation();

  Graph& graph_;
  Rng& random_;
  const v1::ElementType type_;
  bool quantized_;
  v1::OpAttributes op_;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_TESTING_OP_MAKER_H_
