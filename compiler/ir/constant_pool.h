#ifndef EK_COMPILER_IR_CONSTANT_POOL_H_
#define EK_COMPILER_IR_CONSTANT_POOL_H_

#include <cstdint>
#include <memory>

#include "compiler/ir/constant_data.h"

namespace edgekiln::compiler {

// Memory for the constants of a graph. Those of a large network lie together
// in pieces of huge pages: the kernel takes longer to hand out small ones than
// it takes to copy the weights. A piece lives as long as any constant in it.
// Not thread-safe.
class ConstantPool {
 public:
  // Room for one constant. To be filled before `data` is given to others.
  struct Room {
    char* bytes = nullptr;  // Not initialized; aligned to 16.
    ConstantData data;
  };

  // `expected_bytes` of all constants; decides about pieces, limits nothing.
  explicit ConstantPool(int64_t expected_bytes = 0);

  Room Allocate(int64_t bytes);

 private:
  const bool in_pieces_;
  std::shared_ptr<char> piece_;
  int64_t used_bytes_ = 0;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_IR_CONSTANT_POOL_H_
