#ifndef EK_COMPILER_PASSES_INTEGER_IO_H_
#define EK_COMPILER_PASSES_INTEGER_IO_H_

#include "compiler/ir/graph.h"
#include "edgekiln/v1/data.pb.h"

// Who converts between the source model's element types and the integers that
// the network computes with: its caller, or the host on the chip's clock
// (docs/design/0010-integer-io.md). Both forms of a graph have the same ops but
// for these conversions, which stand in front of all others and behind them.
//
// Each says whether it changed anything. Linear in the size of the graph;
// constants stay shared.
namespace edgekiln::compiler {

// Removes the conversions at inputs and outputs:
//
//   %x : float32[1,3,8,8] = input
//   %t : float32[1,8,8,3] = transpose(%x)
//   %q : int8[1,8,8,3] scale .. zero .. = quantize(%t) {rounding HALF_EVEN}
// becomes
//   %x : int8[1,3,8,8] scale .. zero .. = input converted float32 HALF_EVEN
//   %q : int8[1,8,8,3] scale .. zero .. = transpose(%x)
//
// Ports keep names and shapes; Graph.converted_inputs and converted_outputs
// record what the caller converts. An input is converted if everything that
// reads it rounds it in one and the same way, perhaps behind ops that only
// choose values; an output if a Dequantize makes it, perhaps in front of such
// ops. Casts between float32 and other float types at the border are part of
// the conversion, as is the shift by half the range between uint8 and int8.
// States and what an op computes as real numbers stay as they are.
bool UseIntegerPorts(Graph& graph);

// The reverse: the ports of the source model, each with one conversion.
bool UseSourcePorts(Graph& graph);

// UseIntegerPorts(), and for IO_FLOAT then UseSourcePorts().
bool SetIoForm(v1::IoForm form, Graph& graph);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PASSES_INTEGER_IO_H_
