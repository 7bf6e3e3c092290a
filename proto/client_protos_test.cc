// What a client compiles to create a job: jobs.proto and what that imports.

#include <set>
#include <string>

#include "edgekiln/v1/jobs.pb.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"

namespace edgekiln {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FileDescriptor;

void AddImports(const FileDescriptor* file,
                std::set<const FileDescriptor*>* all) {
  if (!all->insert(file).second) return;
  for (int i = 0; i < file->dependency_count(); ++i) {
    AddImports(file->dependency(i), all);
  }
}

// protoc before 3.15 refuses them.
void ExpectNoOptional(const Descriptor* message) {
  for (int i = 0; i < message->field_count(); ++i) {
    EXPECT_EQ(message->field(i)->real_containing_oneof(),
              message->field(i)->containing_oneof())
        << message->field(i)->full_name();
  }
  for (int i = 0; i < message->nested_type_count(); ++i) {
    ExpectNoOptional(message->nested_type(i));
  }
}

TEST(ClientProtosTest, AreFewAndOldCompilersReadThem) {
  std::set<const FileDescriptor*> files;
  AddImports(v1::Job::descriptor()->file(), &files);
  std::set<std::string> ours;
  for (const FileDescriptor* file : files) {
    for (int i = 0; i < file->message_type_count(); ++i) {
      ExpectNoOptional(file->message_type(i));
    }
    if (file->name().rfind("edgekiln/", 0) == 0) ours.insert(file->name());
  }
  EXPECT_EQ(ours,
            (std::set<std::string>{
                "edgekiln/v1/data.proto", "edgekiln/v1/error.proto",
                "edgekiln/v1/firmware.proto", "edgekiln/v1/hot_spots.proto",
                "edgekiln/v1/jobs.proto", "edgekiln/v1/model.proto",
                "edgekiln/v1/quantization.proto", "edgekiln/v1/report.proto",
                "edgekiln/v1/sweep.proto", "edgekiln/v1/sweep_row.proto",
                "edgekiln/v1/timeline.proto"}));
}

}  // namespace
}  // namespace edgekiln
