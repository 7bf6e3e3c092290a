#ifndef EK_TARGET_MEMORIES_H_
#define EK_TARGET_MEMORIES_H_

// Which memories of a machine the host and engines reach, and by which links.

#include <cstdint>
#include <vector>

#include "edgekiln/v1/target.pb.h"

namespace edgekiln::target {

// The host, as owner of a link.
inline constexpr int32_t kHostOwner = -1;

bool Holds(const v1::ResolvedMemory& memory,
           v1::MemoryDescriptor::Content content);

// Written at run time. Any other has its content from the start.
bool IsWritable(const v1::ResolvedMemory& memory);

// The memories that only this engine, and only its links, reach: the engine's
// back end plans them. Rising.
std::vector<int32_t> PrivateMemoriesOf(const v1::Machine& machine,
                                       int32_t engine);

// The one such memory; -1 if there is none, or more than one.
int32_t PrivateMemoryOf(const v1::Machine& machine, int32_t engine);

// The one memory of activations that the engine reaches and the host does not,
// whoever plans it; -1 if there is none, or more than one.
int32_t LocalMemoryOf(const v1::Machine& machine, int32_t engine);

// The one link that `owner` has; null if there is none, or more than one.
const v1::ResolvedLink* OnlyLinkOf(const v1::Machine& machine, int32_t owner);

}  // namespace edgekiln::target

#endif  // EK_TARGET_MEMORIES_H_
