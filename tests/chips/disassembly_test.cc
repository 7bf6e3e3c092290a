// Command streams and register writes as text, on every chip: random programs
// come back to the same bytes, and what no stream or text can be is refused
// with its place.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/rng.h"
#include "compiler/codegen/backends.h"
#include "gtest/gtest.h"
#include "tests/chips/chip_cases.h"
#include "tests/pipeline/chip_run.h"

namespace edgekiln::tests {
namespace {

constexpr int kChips = 8;
constexpr int kPrograms = 25;  // Of each chip.
constexpr int kDamages = 20;   // Of each program.

// The assembler and disassembler of one engine.
class Texts {
 public:
  Texts(const v1::Machine& machine, int32_t engine)
      : engine_(machine.engines(engine)) {
    const auto backend = compiler::FindBackend(machine, engine);
    EXPECT_TRUE(backend.ok()) << backend.status();
    backend_ = *backend;
  }

  absl::StatusOr<std::string> TextOf(absl::string_view code) const {
    return backend_->Disassemble(engine_, code);
  }
  absl::StatusOr<std::string> CodeOf(absl::string_view text) const {
    return backend_->Assemble(engine_, text);
  }

 private:
  const v1::Machine::Engine& engine_;
  const compiler::EngineBackend* backend_ = nullptr;
};

class DisassemblyTest : public testing::TestWithParam<const ChipCase*> {
 protected:
  // Random programs of random chips.
  template <typename Check>
  void ForPrograms(uint64_t seed, const Check& check) {
    Rng rng(seed);
    for (int chip = 0; chip < kChips; ++chip) {
      const RandomCode code = GetParam()->random_code(rng);
      word_bytes_ = code.word_bytes;
      const Texts texts(code.machine, 0);
      for (int i = 0; i < kPrograms && !HasFailure(); ++i) {
        SCOPED_TRACE(absl::StrCat("chip ", chip, ", program ", i));
        check(texts, code.next(rng), rng);
      }
    }
  }

  int64_t word_bytes_ = 0;  // Of the programs of ForPrograms().
};

// "word 12" or "line 12" at the start of a refusal, as the interface has it.
void ExpectRefusedAt(const absl::Status& status, absl::string_view unit,
                     int64_t at) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_TRUE(
      absl::StartsWith(status.message(), absl::StrCat(unit, " ", at, ":")))
      << unit << " " << at << " was damaged: " << status;
}

std::string RandomBytes(int64_t bytes, Rng& rng) {
  std::string text;
  for (int64_t i = 0; i < bytes; ++i) {
    text.push_back(static_cast<char>(rng.Below(256)));
  }
  return text;
}

// What engines are told, by engine: streams, and the writes of each step.
std::vector<std::pair<int32_t, std::string>> CodesOf(
    const v1::Program& program) {
  std::vector<std::pair<int32_t, std::string>> codes;
  for (const v1::Program::Stream& stream : program.streams()) {
    codes.push_back({stream.engine(), stream.code()});
  }
  for (const v1::Program::Step& step : program.steps()) {
    if (!step.has_register_writes()) continue;
    std::string code;
    for (const auto& write : step.register_writes().writes()) {
      for (const uint32_t word : {write.offset(), write.value()}) {
        for (int shift = 0; shift < 32; shift += 8) {
          code.push_back(static_cast<char>(word >> shift));
        }
      }
    }
    codes.push_back({step.register_writes().engine(), code});
  }
  return codes;
}

TEST_P(DisassemblyTest, GivesTheSameBytesAgain) {
  ForPrograms(1, [](const Texts& texts, const std::string& code, Rng&) {
    const auto text = texts.TextOf(code);
    ASSERT_TRUE(text.ok()) << text.status();
    const auto again = texts.CodeOf(*text);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, code) << *text;
  });
}

TEST_P(DisassemblyTest, GivesTheSameBytesOfCompiledNetworks) {
  const v1::ResolvedTarget target = GetParam()->target(1 << 20);
  for (const GraphKind& kind : GetParam()->graphs) {
    SCOPED_TRACE(kind.name);
    QuantizedGraphBuilder builder = BuilderFor(*GetParam(), kind.first_seed);
    if (GetParam()->rounds_half_even) builder.RoundHalfEven();
    const auto compiled = CompileQuantized(kind.make(builder), target);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    const auto codes = CodesOf(compiled->program);
    EXPECT_FALSE(codes.empty());
    for (const auto& [engine, code] : codes) {
      const Texts texts(target.machine(), engine);
      const auto text = texts.TextOf(code);
      ASSERT_TRUE(text.ok()) << text.status();
      const auto again = texts.CodeOf(*text);
      ASSERT_TRUE(again.ok()) << again.status();
      EXPECT_EQ(*again, code);
    }
  }
}

// A word with a flipped bit is another word or none: it is refused by its
// number, or its text stands for just that word.
TEST_P(DisassemblyTest, NamesTheBadWord) {
  int refused = 0;
  int damaged = 0;
  ForPrograms(2, [&](const Texts& texts, const std::string& code, Rng& rng) {
    for (int i = 0; i < kDamages; ++i, ++damaged) {
      std::string bad = code;
      const uint64_t bit = rng.Below(code.size() * 8);
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
      const auto text = texts.TextOf(bad);
      if (!text.ok()) {
        ExpectRefusedAt(text.status(), "word",
                        static_cast<int64_t>(bit / 8) / word_bytes_);
        ++refused;
        continue;
      }
      const auto again = texts.CodeOf(*text);
      ASSERT_TRUE(again.ok()) << again.status();
      EXPECT_EQ(*again, bad) << *text;
    }
  });
  // Both happen, else this test has lost its point.
  EXPECT_GT(refused, damaged / 4);
  EXPECT_LT(refused, damaged);
}

TEST_P(DisassemblyTest, RefusesACutOffWord) {
  ForPrograms(3, [&](const Texts& texts, const std::string& code, Rng& rng) {
    const int64_t cut = rng.InRange(1, word_bytes_ - 1);
    const auto text = texts.TextOf(code.substr(0, code.size() - cut));
    ExpectRefusedAt(text.status(), "word",
                    static_cast<int64_t>(code.size()) / word_bytes_ - 1);
  });
}

// Puts something else in place of one word of a line, behind or before it.
std::string Damaged(absl::string_view line, Rng& rng) {
  std::vector<std::string> words = absl::StrSplit(line, ' ');
  const auto at =
      static_cast<size_t>(rng.Below(static_cast<uint64_t>(words.size())));
  std::string junk = RandomBytes(rng.InRange(1, 12), rng);
  for (char& c : junk) {
    // These would end the line, or what is read of it.
    if (c == '\n' || c == '#') c = '?';
  }
  switch (rng.Below(4)) {
    case 0:
      words[at] = junk;
      break;
    case 1:
      words.insert(words.begin() + static_cast<int64_t>(at), junk);
      break;
    case 2:
      words.erase(words.begin() + static_cast<int64_t>(at));
      break;
    default:
      absl::StrAppend(&words[at], rng.Below(2) == 0 ? "9999999999" : "x");
      break;
  }
  return absl::StrJoin(words, " ");
}

// A damaged line is refused by its number, or it reads as one other word, or as
// none where nothing is left of it.
TEST_P(DisassemblyTest, NamesTheBadLine) {
  int refused = 0;
  int damaged = 0;
  ForPrograms(4, [&](const Texts& texts, const std::string& code, Rng& rng) {
    const auto text = texts.TextOf(code);
    ASSERT_TRUE(text.ok()) << text.status();
    const std::vector<std::string> lines = absl::StrSplit(*text, '\n');
    for (int i = 0; i < kDamages; ++i, ++damaged) {
      const auto at = static_cast<size_t>(rng.Below(lines.size() - 1));
      std::vector<std::string> bad = lines;
      bad[at] = Damaged(lines[at], rng);
      const auto read = texts.CodeOf(absl::StrJoin(bad, "\n"));
      if (!read.ok()) {
        ExpectRefusedAt(read.status(), "line", static_cast<int64_t>(at) + 1);
        ++refused;
        continue;
      }
      const auto bytes = static_cast<size_t>(word_bytes_);
      const size_t begin = at * bytes;
      EXPECT_EQ(read->substr(0, begin), code.substr(0, begin));
      EXPECT_TRUE(absl::EndsWith(*read, code.substr(begin + bytes))) << bad[at];
      const auto meant = texts.TextOf(*read);
      EXPECT_TRUE(meant.ok()) << meant.status();
    }
  });
  EXPECT_GT(refused, damaged / 2);
}

TEST_P(DisassemblyTest, RefusesGarbage) {
  Rng rng(5);
  const RandomCode random = GetParam()->random_code(rng);
  const Texts texts(random.machine, 0);
  int refused = 0;
  for (int i = 0; i < 500; ++i) {
    const std::string garbage =
        RandomBytes(random.word_bytes * rng.InRange(1, 40), rng);
    const auto text = texts.TextOf(garbage);
    if (text.ok()) {
      EXPECT_EQ(texts.CodeOf(*text).value_or(""), garbage);
    } else {
      EXPECT_TRUE(absl::StartsWith(text.status().message(), "word "))
          << text.status();
      ++refused;
    }
    const auto code = texts.CodeOf(garbage);
    if (!code.ok()) {
      EXPECT_TRUE(absl::StartsWith(code.status().message(), "line "))
          << code.status();
      ++refused;
    }
  }
  EXPECT_GT(refused, 900);
}

INSTANTIATE_TEST_SUITE_P(Chips, DisassemblyTest, testing::ValuesIn(AllChips()),
                         [](const auto& info) { return info.param->name; });

}  // namespace
}  // namespace edgekiln::tests
