#include "target/memories.h"

#include <algorithm>

namespace edgekiln::target {
namespace {

template <typename List>
bool Contains(const List& list, int32_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// Whether a link of another owner reads or writes the memory.
bool OthersMove(const v1::Machine& machine, int32_t engine, int32_t memory) {
  return std::any_of(
      machine.links().begin(), machine.links().end(),
      [&](const v1::ResolvedLink& link) {
        return link.owner() != engine &&
               (Contains(link.from(), memory) || Contains(link.to(), memory));
      });
}

}  // namespace

bool Holds(const v1::ResolvedMemory& memory,
           v1::MemoryDescriptor::Content content) {
  return Contains(memory.holds(), content);
}

bool IsWritable(const v1::ResolvedMemory& memory) {
  return Holds(memory, v1::MemoryDescriptor::ACTIVATIONS);
}

std::vector<int32_t> PrivateMemoriesOf(const v1::Machine& machine,
                                       int32_t engine) {
  std::vector<int32_t> found;
  for (int32_t m = 0; m < machine.memories_size(); ++m) {
    const v1::ResolvedMemory& memory = machine.memories(m);
    if (memory.host_reaches() || memory.engines_size() != 1 ||
        memory.engines(0) != engine || OthersMove(machine, engine, m)) {
      continue;
    }
    found.push_back(m);
  }
  return found;
}

int32_t PrivateMemoryOf(const v1::Machine& machine, int32_t engine) {
  const std::vector<int32_t> found = PrivateMemoriesOf(machine, engine);
  return found.size() == 1 ? found[0] : -1;
}

int32_t LocalMemoryOf(const v1::Machine& machine, int32_t engine) {
  int32_t found = -1;
  for (int32_t m = 0; m < machine.memories_size(); ++m) {
    const v1::ResolvedMemory& memory = machine.memories(m);
    if (memory.host_reaches() || !IsWritable(memory) ||
        !Contains(memory.engines(), engine)) {
      continue;
    }
    if (found >= 0) return -1;
    found = m;
  }
  return found;
}

const v1::ResolvedLink* OnlyLinkOf(const v1::Machine& machine, int32_t owner) {
  const v1::ResolvedLink* found = nullptr;
  for (const v1::ResolvedLink& link : machine.links()) {
    if (link.owner() != owner) continue;
    if (found != nullptr) return nullptr;
    found = &link;
  }
  return found;
}

}  // namespace edgekiln::target
