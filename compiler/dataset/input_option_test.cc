#include "compiler/dataset/input_option.h"

#include <string>

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

v1::InputTransform Parse(const std::string& text) {
  v1::InputTransform transform;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &transform));
  return transform;
}

struct Case {
  const char* given;  // Null: none.
  const char* change;
  const char* want;
};

TEST(SuggestInputTest, IsWholeAndSaysWhatItReplaces) {
  const Case kCases[] = {
      {nullptr, "scale: 0.0078125 offset: -1",
       "add --input 'a:0:scale=0.0078125,offset=-1'"},
      {"input: 'a:0'", "layout: NCHW", "add --input 'a:0:layout=nchw'"},
      {"scale: 0.5", "layout: NHWC",
       "replace --input 'scale=0.5' by --input 'a:0:scale=0.5,layout=nhwc'"},
      {"input: 'a:0' scale: [1, 2.5, 3] order: BGR layout: NCHW",
       "scale: 0.25 offset: [1, 0, -1]",
       "replace --input 'a:0:scale=1/2.5/3,order=bgr,layout=nchw' by --input "
       "'a:0:scale=0.25,offset=1/0/-1,order=bgr,layout=nchw'"},
      {"scale: 3", "scale: 0.00392156862745098",
       "replace --input 'scale=3' by --input 'a:0:scale=0.00392156863'"},
  };
  for (const Case& c : kCases) {
    const v1::InputTransform given = Parse(c.given == nullptr ? "" : c.given);
    EXPECT_EQ(SuggestInput("a:0", c.given == nullptr ? nullptr : &given,
                           Parse(c.change)),
              c.want);
  }
}

}  // namespace
}  // namespace edgekiln::compiler
