#ifndef EK_REPORTS_TESTING_SAMPLE_REPORT_H_
#define EK_REPORTS_TESTING_SAMPLE_REPORT_H_

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "edgekiln/v1/report.pb.h"

namespace edgekiln {

// A small report with everything that pages and exports show.
inline v1::Report SampleReport() {
  v1::Report report;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        job_id: "j1"
        model_name: "net.tflite"
        target_name: "chip"
        totals {
          cycles: 2000
          macs: 98304
          latency_ms: 0.004
          fidelity: CYCLE_APPROXIMATE
          engine_macs: 98304
          host_cycles: 500
        }
        engines {
          name: "dla"
          clock_hz: 500000000
          busy_cycles: 1250
          units: "compute"
          units: "dma"
          segments {
            begin: 0
            end: 1000
            busy_cycles: 1000
            layer: 0
            kind: COMPUTE
          }
          segments {
            begin: 1000
            end: 1500
            busy_cycles: 250
            layer: 1
            kind: COMPUTE
          }
          segments { unit: 1 end: 300 busy_cycles: 300 layer: 0 kind: DMA_READ }
        }
        engines {
          name: "cpu"
          clock_hz: 500000000
          busy_cycles: 500
          host: true
          units: "core"
          segments {
            begin: 1500
            end: 2000
            busy_cycles: 500
            layer: 2
            kind: HOST_OP
          }
        }
        layers {
          id: "conv1"
          op: "conv2d"
          kind: CONV
          engine: "dla"
          cycles: 1000
          compute_cycles: 900
          stall_cycles: 100
          stalls { transfer_cycles: 100 }
          macs: 90000
          utilization: 0.781
          sram_bytes: 2048
          tiles: 4
          macs_per_byte: 12.5
          roofline_macs_per_cycle: 64
          fidelity: CYCLE_APPROXIMATE
        }
        layers { id: "add" op: "add" engine: "dla" cycles: 500 macs: 8304 }
        layers {
          id: "softmax"
          op: "softmax"
          engine: "cpu"
          cycles: 500
          reason: "no pattern of dla matches softmax"
        }
        memory {
          memories { name: "sram" used_bytes: 3072 capacity_bytes: 524288 }
        }
        tensors {
          name: "x"
          memory: "sram"
          address: 0
          bytes: 1024
          first_layer: 0
          last_layer: 1
        }
        tensors {
          name: "y"
          memory: "sram"
          address: 512
          bytes: 1024
          first_layer: 1
          last_layer: 2
        }
        accuracy {
          metric: "top1"
          value: 0.966
          samples: 1000
          interval { value: 0.966 low: 0.953 high: 0.976 }
        }
        bit_exact { outputs_compared: 44804000 }
        stages { name: "import" cache: HIT }
      )pb",
      &report));
  return report;
}

}  // namespace edgekiln

#endif  // EK_REPORTS_TESTING_SAMPLE_REPORT_H_
