#ifndef EK_SIMFARM_CONFORMANCE_REGISTER_JOB_NAIVE_ENGINE_H_
#define EK_SIMFARM_CONFORMANCE_REGISTER_JOB_NAIVE_ENGINE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "edgekiln/v1/target.pb.h"
#include "simfarm/conformance/register_job/job_case.h"
#include "simfarm/conformance/register_job/naive_job.h"

namespace edgekiln::simfarm::conformance::register_job {

// The engine of docs/targets/register_job.md, computed one element and one
// cycle at a time. Does not detect layouts in which elements overlap.
class NaiveEngine {
 public:
  virtual ~NaiveEngine() = default;

  // False on an error: see error(). A write that starts a job computes it at
  // once.
  virtual bool Write(uint32_t offset, uint32_t value) = 0;
  // The host stores the record of the next job.
  virtual bool Store(int32_t memory, uint64_t address,
                     const std::vector<uint32_t>& words) = 0;
  virtual uint32_t ReadStatus() const = 0;
  // Remaining cycles of the running job; 0 if none runs.
  virtual int64_t left() const = 0;
  virtual void Tick() = 0;
  virtual void Skip() = 0;  // To the end of the job.
  // The job started last; its operands include the table.
  virtual const NaiveJob& job() const = 0;
  virtual const std::string& error() const = 0;
};

// `machine` and `memories` must outlive it. Without `computes` jobs write
// nothing there.
std::unique_ptr<NaiveEngine> NewNaiveEngine(const v1::Machine& machine,
                                            int32_t engine, bool computes,
                                            NaiveMemories memories);

// The memory of activations that the engine reaches and the host does not.
int32_t OwnMemory(const v1::Machine& machine, int32_t engine);

// An engine by itself: polled after each start until the job has ended.
JobOutcome RunNaive(const v1::Machine& machine, int32_t engine,
                    const JobProgram& program);

}  // namespace edgekiln::simfarm::conformance::register_job

#endif  // EK_SIMFARM_CONFORMANCE_REGISTER_JOB_NAIVE_ENGINE_H_
