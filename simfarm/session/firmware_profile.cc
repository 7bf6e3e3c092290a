#include "simfarm/session/firmware_profile.h"

namespace edgekiln::simfarm {

void ProfileRecorder::Begin(const rv32::Machine& machine) {
  begin_ = machine.totals();
  begin_counts_.clear();
  for (const rv32::PcCount& count : machine.CountAddresses()) {
    begin_counts_.emplace(count.pc, count);
  }
  functions_.clear();
  for (const rv32::FunctionCount& count : machine.CountFunctions()) {
    functions_[count.address].counted_cycles = count.cycles;
  }
}

void ProfileRecorder::EndLayer(int layer, const rv32::Machine& machine) {
  for (const rv32::FunctionCount& count : machine.CountFunctions()) {
    Function& function = functions_[count.address];
    const int64_t cycles = count.cycles - function.counted_cycles;
    if (cycles != 0) function.cycles_of_layer[layer] += cycles;
    function.counted_cycles = count.cycles;
  }
}

FirmwareProfile ProfileRecorder::End(const rv32::Machine& machine) const {
  FirmwareProfile profile;
  const rv32::Totals end = machine.totals();
  profile.instructions = end.instructions - begin_.instructions;
  profile.cycles = end.cycles - begin_.cycles;
  for (rv32::PcCount count : machine.CountAddresses()) {
    const auto before = begin_counts_.find(count.pc);
    if (before != begin_counts_.end()) {
      count.executions -= before->second.executions;
      count.taken -= before->second.taken;
      count.cycles -= before->second.cycles;
    }
    if (count.executions == 0 && count.cycles == 0) continue;
    profile.addresses.push_back(count);
  }
  for (const auto& [address, function] : functions_) {
    int64_t most = 0;
    for (const auto& [layer, cycles] : function.cycles_of_layer) {
      if (cycles <= most) continue;
      most = cycles;
      profile.layer_of_function[address] = layer;
    }
  }
  return profile;
}

}  // namespace edgekiln::simfarm
