#include "target/layout.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace edgekiln::target {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

v1::Layout Parse(const std::string& text) {
  v1::Layout layout;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &layout));
  return layout;
}

// [c, h, w] of 20 x 2 x 3 bytes in blocks of 16 channels, the second partly
// filled: channel, column, row, block.
v1::Layout Nchw16c() {
  return Parse(R"(extents: [20, 2, 3] element_bits: 8 size_bytes: 192
      terms { axis: 0 divide: 16 stride_bytes: 96 }
      terms { axis: 0 modulo: 16 stride_bytes: 1 }
      terms { axis: 1 stride_bytes: 48 }
      terms { axis: 2 stride_bytes: 16 })");
}

// Every index, the last axis fastest.
void ForEachIndex(absl::Span<const int64_t> extents,
                  const std::function<void(const std::vector<int64_t>&)>& use) {
  std::vector<int64_t> index(extents.size(), 0);
  if (std::count(extents.begin(), extents.end(), 0) > 0) return;
  while (true) {
    use(index);
    size_t axis = extents.size();
    while (axis > 0 && ++index[axis - 1] == extents[axis - 1]) {
      index[--axis] = 0;
    }
    if (axis == 0) return;
  }
}

// What the message's comment says, word by word.
int64_t NaiveOffset(const v1::Layout& layout,
                    const std::vector<int64_t>& index) {
  int64_t offset = layout.first_byte();
  for (const v1::Layout::Term& term : layout.terms()) {
    int64_t digit = index[static_cast<size_t>(term.axis())];
    if (term.divide() != 0) digit /= term.divide();
    if (term.modulo() != 0) digit %= term.modulo();
    offset += digit * term.stride_bytes();
  }
  return offset;
}

// Offsets of the elements, in dense order.
std::vector<int64_t> NaiveOffsets(const v1::Layout& layout) {
  std::vector<int64_t> offsets;
  ForEachIndex(
      std::vector<int64_t>(layout.extents().begin(), layout.extents().end()),
      [&](const auto& index) {
        offsets.push_back(NaiveOffset(layout, index));
      });
  return offsets;
}

// Where byte `at` of the terms lies: as the message's comment says.
int64_t NaivePlace(const v1::Layout& layout, int64_t at) {
  const int64_t group = layout.reversed_bytes();
  if (group == 0) return at;
  return at / group * group + (group - 1 - at % group);
}

bool NaiveInjective(const v1::Layout& layout) {
  std::set<int64_t> bytes;
  for (const int64_t offset : NaiveOffsets(layout)) {
    for (int b = 0; b < layout.element_bits() / 8; ++b) {
      if (!bytes.insert(offset + b).second) return false;
    }
  }
  return true;
}

std::string RandomBytes(int64_t bytes, Rng& rng) {
  std::string text(static_cast<size_t>(bytes), '\0');
  for (char& c : text) c = static_cast<char>(rng.Below(256));
  return text;
}

// The layout does what the naive reading says, and nothing else.
void ExpectAsNaive(const v1::Layout& message, Rng& rng) {
  SCOPED_TRACE(message.ShortDebugString());
  const auto layout = Layout::Create(message);
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_TRUE(NaiveInjective(message));
  const std::vector<int64_t> offsets = NaiveOffsets(message);
  const int64_t size = layout->element_bytes();
  ASSERT_EQ(layout->dense_bytes(), static_cast<int64_t>(offsets.size()) * size);
  const std::string memory = RandomBytes(layout->size_bytes(), rng);
  std::string dense(static_cast<size_t>(layout->dense_bytes()), '\0');
  layout->Gather(memory.data(), dense.data());
  std::string want;
  int64_t end = 0;
  for (const int64_t offset : offsets) {
    for (int64_t b = 0; b < size; ++b) {
      want += memory[NaivePlace(message, offset + b)];
    }
    end = std::max(end, offset + size);
  }
  const int64_t group = std::max(message.reversed_bytes(), 1);
  end = (end + group - 1) / group * group;
  EXPECT_EQ(dense, want);
  EXPECT_EQ(layout->end_bytes(), end);
  std::string buffer;
  EXPECT_EQ(layout->View(memory.data(), buffer), want);
  const bool dense_order =
      (message.reversed_bytes() == 0 || offsets.empty()) &&
      std::is_sorted(offsets.begin(), offsets.end()) &&
      (offsets.empty() || offsets.back() + size == layout->dense_bytes());
  const bool in_blocks = std::any_of(
      message.terms().begin(), message.terms().end(),
      [](const v1::Layout::Term& term) { return term.modulo() != 0; });
  if (!in_blocks) {
    EXPECT_EQ(layout->is_dense(), dense_order);
  } else if (layout->is_dense()) {
    EXPECT_TRUE(dense_order);
  }

  // Scattered into other bytes: its own places change, and no others.
  const std::string other = RandomBytes(layout->size_bytes(), rng);
  std::string scattered = other;
  layout->Scatter(dense.data(), scattered.data());
  std::string expected = other;
  for (size_t i = 0; i < want.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    expected[NaivePlace(message, offsets[at / size] + at % size)] = want[i];
  }
  EXPECT_EQ(scattered, expected);
  std::string again(dense.size(), '\0');
  layout->Gather(scattered.data(), again.data());
  EXPECT_EQ(again, dense);

  // Runs cover every value once.
  std::map<int64_t, int64_t> places;
  layout->VisitRuns([&](const Layout::Run& run) {
    for (int64_t b = 0; b < run.bytes; ++b) {
      EXPECT_TRUE(places.emplace(run.dense_offset + b, run.offset + b).second);
    }
    return true;
  });
  ASSERT_EQ(static_cast<int64_t>(places.size()), layout->dense_bytes());
  for (const auto& [value, place] : places) {
    EXPECT_EQ(place, NaivePlace(message, offsets[value / size] + value % size));
  }
  std::set<int64_t> taken;
  layout->VisitTaken([&](int64_t offset, int64_t bytes) {
    for (int64_t b = 0; b < bytes; ++b) {
      EXPECT_TRUE(taken.insert(offset + b).second);
    }
    return true;
  });
  EXPECT_EQ(taken.size(), places.size());
  for (const auto& [value, place] : places) EXPECT_EQ(taken.count(place), 1u);
}

// Axes divided into blocks at random, their terms in any order in memory, some
// with gaps.
v1::Layout RandomLayout(Rng& rng) {
  v1::Layout layout;
  const int64_t element_bytes = int64_t{1} << rng.Below(4);
  layout.set_element_bits(static_cast<int32_t>(8 * element_bytes));
  const int axes = static_cast<int>(rng.InRange(0, 4));
  struct Digit {
    v1::Layout::Term term;
    int64_t count;
  };
  std::vector<Digit> digits;
  for (int axis = 0; axis < axes; ++axis) {
    const int64_t extent = rng.InRange(rng.Below(20) == 0 ? 0 : 1, 9);
    layout.add_extents(extent);
    int64_t divide = 1;
    while (divide < extent) {
      Digit digit;
      digit.term.set_axis(axis);
      if (divide > 1 || rng.Below(2) == 0) digit.term.set_divide(divide);
      digit.count = (extent - 1) / divide + 1;
      if (rng.Below(2) == 0) {
        const int64_t modulo = rng.InRange(2, 5);
        digit.term.set_modulo(modulo);
        digit.count = std::min(digit.count, modulo);
        divide *= modulo;
      } else {
        divide = extent;
      }
      digits.push_back(digit);
    }
  }
  int64_t span = element_bytes;
  while (!digits.empty()) {
    const size_t next = rng.Below(digits.size());
    Digit digit = digits[next];
    digits.erase(digits.begin() + static_cast<int64_t>(next));
    const int64_t stride = span + (rng.Below(3) == 0 ? rng.InRange(1, 5) : 0);
    digit.term.set_stride_bytes(stride);
    *layout.add_terms() = digit.term;
    span += (digit.count - 1) * stride;
  }
  layout.set_size_bytes(span + (rng.Below(3) == 0 ? 7 : 0));
  if (rng.Below(3) == 0) {
    const int64_t group = int64_t{2} << rng.Below(3);
    layout.set_reversed_bytes(static_cast<int32_t>(group));
    layout.set_first_byte(static_cast<int32_t>(rng.InRange(0, group - 1)));
    layout.set_size_bytes(
        (layout.size_bytes() + layout.first_byte() + group - 1) / group *
        group);
  }
  return layout;
}

TEST(LayoutTest, DoesWhatTheTermsSay) {
  Rng rng(1);
  ExpectAsNaive(Nchw16c(), rng);
  // Weights [k, c] = [10, 6] in blocks of 4 x 4, both partly filled.
  ExpectAsNaive(Parse(R"(extents: [10, 6] element_bits: 8 size_bytes: 96
          terms { axis: 0 divide: 4 stride_bytes: 32 }
          terms { axis: 1 divide: 4 stride_bytes: 16 }
          terms { axis: 0 modulo: 4 stride_bytes: 4 }
          terms { axis: 1 modulo: 4 stride_bytes: 1 })"),
                rng);
  ExpectAsNaive(StridedLayout({1, 3, 4, 5}, {0, 50, 12, 2}, 2), rng);
  ExpectAsNaive(DenseLayout({2, 3, 5}, 4), rng);
  ExpectAsNaive(DenseLayout({}, 4), rng);
  ExpectAsNaive(DenseLayout({3, 0}, 1), rng);
  // Rows of 3 x 4 bytes whose groups lie together, and rows of 3 x 3, whose
  // groups rows share.
  v1::Layout reversed = StridedLayout({5, 12}, {12, 1}, 1);
  reversed.set_reversed_bytes(4);
  ExpectAsNaive(reversed, rng);
  reversed = StridedLayout({4, 9}, {9, 1}, 1);
  reversed.set_reversed_bytes(4);
  ExpectAsNaive(reversed, rng);
  // The same from within a group on.
  reversed.set_first_byte(3);
  reversed.set_size_bytes(40);
  ExpectAsNaive(reversed, rng);
}

TEST(LayoutTest, RandomLayoutsDoToo) {
  Rng rng(2);
  int blocked = 0;
  for (int i = 0; i < 400; ++i) {
    const v1::Layout layout = RandomLayout(rng);
    ExpectAsNaive(layout, rng);
    if (layout.terms_size() > layout.extents_size()) ++blocked;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(blocked, 50);
}

// What is accepted never lets two elements share a byte, whatever the terms.
TEST(LayoutTest, AcceptsInjectiveLayoutsOnly) {
  Rng rng(3);
  int refused = 0;
  int injective = 0;
  for (int i = 0; i < 4000; ++i) {
    v1::Layout layout = RandomLayout(rng);
    for (v1::Layout::Term& term : *layout.mutable_terms()) {
      if (rng.Below(3) == 0) term.set_stride_bytes(rng.InRange(0, 40));
      if (rng.Below(8) == 0) term.set_divide(rng.InRange(0, 5));
      if (rng.Below(8) == 0) term.set_modulo(rng.InRange(0, 5));
    }
    layout.set_size_bytes(10'000);  // Of whole groups, too.
    if (!Layout::Create(layout).ok()) {
      ++refused;
      continue;
    }
    ++injective;
    ASSERT_TRUE(NaiveInjective(layout)) << layout.ShortDebugString();
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(injective, 500);
}

TEST(LayoutTest, RefusesWhatIsNoLayout) {
  const int64_t huge = int64_t{1} << 62;
  const struct {
    const char* message;
    std::function<void(v1::Layout*)> edit;
  } kCases[] = {
      {"9 axes",
       [](auto* l) {
         for (int i = 0; i < 6; ++i) l->add_extents(1);
       }},
      {"17 terms",
       [](auto* l) {
         while (l->terms_size() < 17) *l->add_terms() = l->terms(0);
       }},
      {"reversed_bytes is 3", [](auto* l) { l->set_reversed_bytes(3); }},
      {"reversed_bytes is 1", [](auto* l) { l->set_reversed_bytes(1); }},
      {"reversed_bytes is 16", [](auto* l) { l->set_reversed_bytes(16); }},
      {"reversed_bytes is -4", [](auto* l) { l->set_reversed_bytes(-4); }},
      {"first_byte is 1", [](auto* l) { l->set_first_byte(1); }},
      {"first_byte is 4",
       [](auto* l) { l->set_reversed_bytes(4), l->set_first_byte(4); }},
      {"first_byte is -1",
       [](auto* l) { l->set_reversed_bytes(4), l->set_first_byte(-1); }},
      {"a size of 194 bytes, not of whole groups of 4 reversed bytes",
       [](auto* l) { l->set_reversed_bytes(4), l->set_size_bytes(194); }},
      {"elements of 4 bits", [](auto* l) { l->set_element_bits(4); }},
      {"elements of 0 bits", [](auto* l) { l->set_element_bits(0); }},
      {"elements of 72 bits", [](auto* l) { l->set_element_bits(72); }},
      {"elements of -8 bits", [](auto* l) { l->set_element_bits(-8); }},
      {"unusable extents [20, -1, 3]", [](auto* l) { l->set_extents(1, -1); }},
      {"unusable extents", [&](auto* l) { l->set_extents(1, huge); }},
      {"unusable extents",
       [&](auto* l) { l->set_extents(0, 0), l->set_extents(1, huge); }},
      {"a term of axis 3 of 3",
       [](auto* l) { l->mutable_terms(0)->set_axis(3); }},
      {"a term of axis -1", [](auto* l) { l->mutable_terms(0)->set_axis(-1); }},
      {"axis 0: its terms are not the digits of an index, at divide 15",
       [](auto* l) { l->mutable_terms(0)->set_divide(15); }},
      {"at divide -16", [](auto* l) { l->mutable_terms(0)->set_divide(-16); }},
      {"at divide 1", [](auto* l) { l->mutable_terms(1)->set_modulo(-16); }},
      {"at divide 1", [](auto* l) { l->mutable_terms(1)->set_modulo(1); }},
      {"at divide 16", [](auto* l) { l->mutable_terms(1)->set_modulo(0); }},
      {"axis 0: its terms tell 16 indices apart, not 20",
       [](auto* l) { l->mutable_terms()->DeleteSubrange(0, 1); }},
      {"axis 2: its terms tell 1 indices apart, not 3",
       [](auto* l) { l->mutable_terms()->RemoveLast(); }},
      {"elements overlap: a stride of 15 bytes over a span of 16",
       [](auto* l) { l->mutable_terms(3)->set_stride_bytes(15); }},
      {"elements overlap",
       [](auto* l) { l->mutable_terms(3)->set_stride_bytes(0); }},
      {"elements overlap",
       [](auto* l) { l->mutable_terms(0)->set_stride_bytes(-96); }},
      {"exceed 64 bits",
       [&](auto* l) { l->mutable_terms(0)->set_stride_bytes(INT64_MAX); }},
      {"a size of 191 bytes, the terms span 192",
       [](auto* l) { l->set_size_bytes(191); }},
      {"a size of", [](auto* l) { l->set_size_bytes(-1); }},
      {"a size of", [](auto* l) { l->set_size_bytes(INT64_MAX); }},
  };
  ASSERT_TRUE(Layout::Create(Nchw16c()).ok());
  for (const auto& c : kCases) {
    v1::Layout layout = Nchw16c();
    c.edit(&layout);
    const absl::Status status = Layout::Create(layout).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message));
  }
}

// Eight axes with a partly filled block each would be 256 loops.
TEST(LayoutTest, RefusesTooManyPartlyFilledBlocks) {
  v1::Layout layout;
  layout.set_element_bits(8);
  int64_t stride = 1;
  for (int axis = 0; axis < 8; ++axis) {
    layout.add_extents(3);
    for (const int64_t divide : {1, 2}) {
      v1::Layout::Term& term = *layout.add_terms();
      term.set_axis(axis);
      term.set_divide(divide);
      if (divide == 1) term.set_modulo(2);
      term.set_stride_bytes(stride);
      stride *= 2;
    }
  }
  layout.set_size_bytes(stride);
  EXPECT_THAT(std::string(Layout::Create(layout).status().message()),
              HasSubstr("more than 16 combinations"));
}

// In as few runs as there are: simulation copies every tap that is shown.
TEST(LayoutTest, RunsAreAsLongAsTheLayoutAllows) {
  const struct {
    v1::Layout layout;
    std::vector<int64_t> runs;
  } kCases[] = {
      {DenseLayout({1, 3, 4, 5}, 2), {120}},
      {StridedLayout({1, 3, 2, 5}, {0, 40, 5, 1}, 1), {10, 10, 10}},
      {StridedLayout({1, 2, 2, 5}, {0, 40, 8, 1}, 1), {5, 5, 5, 5}},
      {StridedLayout({2, 2, 5}, {16, 8, 1}, 1), {5, 5, 5, 5}},
  };
  for (const auto& c : kCases) {
    const auto layout = Layout::Create(c.layout);
    ASSERT_TRUE(layout.ok()) << layout.status();
    std::vector<int64_t> runs;
    int64_t dense_offset = 0;
    EXPECT_TRUE(layout->VisitRuns([&](const Layout::Run& run) {
      EXPECT_EQ(run.dense_offset, dense_offset);
      dense_offset += run.bytes;
      runs.push_back(run.bytes);
      return true;
    }));
    EXPECT_EQ(runs, c.runs);
    int visited = 0;
    EXPECT_FALSE(layout->VisitRuns([&](const Layout::Run&) {
      ++visited;
      return false;
    }));
    EXPECT_EQ(visited, 1);
  }
}

v1::Box BoxOf(const std::vector<int64_t>& begin,
              const std::vector<int64_t>& end,
              const std::vector<int64_t>& shape = {}) {
  v1::Box box;
  for (const int64_t b : begin) box.add_begin(b);
  for (const int64_t e : end) box.add_end(e);
  for (const int64_t s : shape) box.add_shape(s);
  return box;
}

TEST(BoxTest, IsThePartOfTheTensorBetweenBeginAndEnd) {
  Rng rng(4);
  for (int i = 0; i < 200; ++i) {
    std::vector<int64_t> shape, begin, end;
    for (int64_t axes = rng.InRange(0, 4); axes > 0; --axes) {
      shape.push_back(rng.InRange(1, 6));
      begin.push_back(rng.InRange(0, shape.back()));
      end.push_back(rng.InRange(begin.back(), shape.back()));
    }
    const int64_t size = rng.InRange(1, 4);
    int64_t elements = 1;
    for (const int64_t extent : shape) elements *= extent;
    const std::string tensor = RandomBytes(elements * size, rng);
    std::string want;
    int64_t element = 0;
    ForEachIndex(shape, [&](const std::vector<int64_t>& index) {
      bool inside = true;
      for (size_t axis = 0; axis < index.size(); ++axis) {
        inside =
            inside && index[axis] >= begin[axis] && index[axis] < end[axis];
      }
      if (inside) want += tensor.substr(element * size, size);
      ++element;
    });
    const auto part = Layout::OfBox(BoxOf(begin, end), shape, size);
    ASSERT_TRUE(part.ok()) << part.status();
    EXPECT_EQ(part->size_bytes(), static_cast<int64_t>(tensor.size()));
    std::string buffer;
    EXPECT_EQ(part->View(tensor.data(), buffer), want);
  }
}

// Rows 1 to 4 of [2, 3, 5], which are no box of its own rank.
TEST(BoxTest, CountsInTheShapeThatItStates) {
  std::string tensor(30, '\0');
  for (size_t i = 0; i < tensor.size(); ++i) tensor[i] = static_cast<char>(i);
  const auto part = Layout::OfBox(BoxOf({1, 2}, {4, 4}, {6, 5}), {2, 3, 5}, 1);
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_THAT(part->extents(), ElementsAre(3, 2));
  std::string buffer;
  EXPECT_EQ(part->View(tensor.data(), buffer), "\x07\x08\x0c\x0d\x11\x12");
}

TEST(BoxTest, MayNotLeaveTheTensor) {
  const std::vector<int64_t> shape = {2, 3, 5};
  EXPECT_TRUE(Layout::OfBox(WholeBox(shape), shape, 1)->is_dense());
  EXPECT_TRUE(Layout::OfBox(WholeBox({0, 3}), {0, 3}, 1)->is_dense());
  const int64_t huge = int64_t{1} << 40;
  for (const v1::Box& box :
       {BoxOf({-1, 0, 0}, {2, 3, 5}), BoxOf({0, 0, 0}, {2, 4, 5}),
        BoxOf({0, 2, 0}, {2, 1, 5}), BoxOf({0, 0}, {2, 3}), BoxOf({}, {}),
        BoxOf({0, 0, 0}, {2, 3}), BoxOf({0, 0}, {6, 4}, {6, 4}),
        BoxOf({0, 0}, {huge, huge}, {huge, huge}),
        BoxOf({0, 0, 0}, {2, 3, INT64_MAX})}) {
    EXPECT_EQ(Layout::OfBox(box, shape, 1).status().code(),
              absl::StatusCode::kInvalidArgument)
        << box.ShortDebugString();
  }
}

TEST(BoxTest, ItsLayoutIsAsLarge) {
  const auto layout = Layout::Create(DenseLayout({1, 3, 5}, 1));
  ASSERT_TRUE(layout.ok());
  EXPECT_TRUE(CheckBox(BoxOf({0, 4, 2}, {1, 7, 7}), *layout).ok());
  for (const v1::Box& box :
       {BoxOf({0, 4, 2}, {1, 8, 7}), BoxOf({0, -1, 2}, {1, 2, 7}),
        BoxOf({4, 2}, {7, 7}), BoxOf({0, 4, INT64_MAX}, {1, 7, INT64_MIN})}) {
    EXPECT_FALSE(CheckBox(box, *layout).ok()) << box.ShortDebugString();
  }
}

TEST(ShareBytesTest, FindsEveryByte) {
  // Two blocks of 6 bytes at 0 and 10, and what fits between them.
  const auto blocks = Layout::Create(Parse(R"(
      extents: [2, 6] element_bits: 8 size_bytes: 16
      terms { axis: 0 stride_bytes: 10 } terms { axis: 1 stride_bytes: 1 })"));
  const auto gaps = Layout::Create(Parse(R"(
      extents: [2, 4] element_bits: 8 size_bytes: 14
      terms { axis: 0 stride_bytes: 10 } terms { axis: 1 stride_bytes: 1 })"));
  ASSERT_TRUE(blocks.ok() && gaps.ok());
  for (int64_t offset = -20; offset <= 20; ++offset) {
    std::set<int64_t> taken;
    blocks->VisitTaken([&](int64_t at, int64_t bytes) {
      for (int64_t i = 0; i < bytes; ++i) taken.insert(at + i);
      return true;
    });
    bool shared = false;
    gaps->VisitTaken([&](int64_t at, int64_t bytes) {
      for (int64_t i = 0; i < bytes; ++i) {
        shared |= taken.contains(offset + at + i);
      }
      return true;
    });
    EXPECT_EQ(ShareBytes(*blocks, *gaps, offset), shared) << offset;
    EXPECT_EQ(ShareBytes(*gaps, *blocks, -offset), shared) << offset;
  }
  EXPECT_FALSE(ShareBytes(*blocks, *gaps, 6));
}

TEST(ShareBytesTest, OfReversedBytesTheMirrorImagesCount) {
  // Bytes 0 and 1 of the terms lie at 3 and 2.
  const auto low = Layout::Create(Parse(R"(
      extents: [2] element_bits: 8 size_bytes: 4 reversed_bytes: 4
      terms { axis: 0 stride_bytes: 1 })"));
  const auto plain = Layout::Create(Parse(R"(
      extents: [2] element_bits: 8 size_bytes: 2
      terms { axis: 0 stride_bytes: 1 })"));
  ASSERT_TRUE(low.ok() && plain.ok());
  EXPECT_FALSE(ShareBytes(*low, *plain, 0));
  EXPECT_TRUE(ShareBytes(*low, *plain, 1));
}

}  // namespace
}  // namespace edgekiln::target
