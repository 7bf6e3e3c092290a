#include "target/expression.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace edgekiln::target {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kVariables = {"X", "Y"};
const std::vector<Constant> kConstants = {{"p", 64}, {"X", 5}};

struct ValueCase {
  std::string name;
  std::string text;
  int64_t want;  // With Y = 7; X is the constant 5.
};

class ExpressionValueTest : public testing::TestWithParam<ValueCase> {};

TEST_P(ExpressionValueTest, Gives) {
  const auto expression =
      Expression::Compile(GetParam().text, kConstants, kVariables);
  ASSERT_TRUE(expression.ok()) << expression.status();
  const auto value = expression->Evaluate({100, 7});
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(*value, GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    All, ExpressionValueTest,
    testing::ValuesIn(std::vector<ValueCase>{
        {"Literal", " 42 ", 42},
        {"Largest", "9223372036854775807", INT64_MAX},
        {"Smallest", "-9223372036854775807 - 1", INT64_MIN},
        {"Precedence", "1 + 2*3 - 4", 3},
        {"LeftToRight", "10 - 3 - 2", 5},
        {"Parentheses", "(1 + 2)*3", 9},
        {"Negation", "2 - -3", 5},
        {"DoubleNegation", "--3", 3},
        {"ConstantHidesVariable", "X", 5},
        {"Variable", "Y*p", 448},
        {"CeilDivUp", "ceildiv(7, 2)", 4},
        {"CeilDivNegative", "ceildiv(-7, 2)", -3},
        {"CeilDivBothNegative", "ceildiv(-7, -2)", 4},
        {"CeilDivExact", "ceildiv(8, 2)", 4},
        {"FloorDiv", "floordiv(7, 2)", 3},
        {"FloorDivNegative", "floordiv(-7, 2)", -4},
        {"FloorDivByNegative", "floordiv(7, -2)", -4},
        {"Min", "min(3, -4)", -4},
        {"Max", "max(3, -4)", 3},
        {"SelectFirst", "select(1, 10, 20)", 10},
        {"SelectSecond", "select(0, 10, 20)", 20},
        {"SelectLooksAtOneOnly", "select(0, floordiv(1, 0), 20)", 20},
        {"Equal", "1 == 1", 1},
        {"NotEqual", "1 != 1", 0},
        {"Less", "1 < 1", 0},
        {"LessEqual", "1 <= 1", 1},
        {"Greater", "2 > 1", 1},
        {"GreaterEqual", "0 >= 1", 0},
        {"ComparisonIsLowest", "1 + 1 == 2", 1},
        {"Sum", "sum(i, 0, 4, i*i)", 14},
        {"EmptySum", "sum(i, 4, 4, floordiv(1, 0))", 0},
        {"NestedSum", "sum(i, 0, 3, sum(j, 0, i, i*10 + j))", 10 + 20 + 21},
        {"SumHidesVariable", "sum(Y, 0, 3, Y) + Y", 10},
        {"InnerSumHidesOuter", "sum(i, 0, 2, sum(i, 5, 6, i))", 10}}),
    [](const auto& info) { return info.param.name; });

struct ErrorCase {
  std::string name;
  std::string text;
  std::string message;
};

class ExpressionErrorTest : public testing::TestWithParam<ErrorCase> {};

TEST_P(ExpressionErrorTest, Names) {
  const auto expression =
      Expression::Compile(GetParam().text, kConstants, kVariables);
  const absl::Status status = expression.ok()
                                  ? expression->Evaluate({1, 1}).status()
                                  : expression.status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, ExpressionErrorTest,
    testing::ValuesIn(std::vector<ErrorCase>{
        {"Empty", "", "unexpected end; where: column 1"},
        {"Trailing", "1 2", "unexpected character; where: column 3"},
        {"UnknownName", "1 + Z",
         "unknown name \"Z\"; where: column 5 of \"1 + Z\"; "
         "fix: declare it as a parameter"},
        {"UnknownFunction", "2*abs(1)",
         "unknown function \"abs\"; where: column 3"},
        {"TooFewArguments", "min(1)", "expected \",\"; where: column 6"},
        {"Unclosed", "(1", "expected \")\"; where: column 3"},
        {"BadLiteral", "12x", "decimal integer; where: column 1"},
        {"LiteralTooLarge", "9223372036854775808",
         "decimal integer; where: column 1"},
        {"ChainedComparison", "1 < 2 < 3",
         "unexpected character; where: column 7"},
        {"Control", std::string("1\0", 2), "unexpected character"},
        {"AddOverflow", "9223372036854775807 + Y",
         "overflow; where: column 21"},
        {"MulOverflow", "p*9223372036854775807", "overflow; where: column 2"},
        {"NegateOverflow", "-(-9223372036854775807 - Y)",
         "overflow; where: column 1"},
        {"DivideByZero", "ceildiv(1, Y - 1)",
         "division by 0 or overflow; where: column 1"},
        {"DivideOverflow", "floordiv(-9223372036854775807 - 1, 0 - 1)",
         "division by 0 or overflow"},
        {"TooManyTerms", "sum(i, 0, 65537, 1)", "too many terms"},
        {"NestedTooManyTerms", "sum(i, 0, 1000, sum(j, 0, 1000, 1))",
         "too many terms"},
        {"SumVariableEnds", "sum(i, 0, 2, i) + i", "unknown name \"i\""},
        {"SumWithoutName", "sum(1, 0, 2, 3)", "needs a variable name"},
        {"DeepParentheses", std::string(100, '(') + "1", "nested too deeply"},
        {"DeepNegation", std::string(100, '-') + "1", "nested too deeply"},
        {"TooLong", std::string(5000, ' '), "too long"}}),
    [](const auto& info) { return info.param.name; });

TEST(ExpressionTest, LongChainsAreRefusedAsDeep) {
  std::string text = "1";
  for (int i = 0; i < 200; ++i) absl::StrAppend(&text, "+1");
  EXPECT_THAT(std::string(EvaluateConstant(text, {}).status().message()),
              HasSubstr("nested too deeply"));
}

TEST(ExpressionTest, LargestSumIsAllowed) {
  EXPECT_EQ(*EvaluateConstant("sum(i, 0, 65536, 1)", {}), 65536);
}

TEST(ExpressionTest, KnowsWhetherItUsesVariables) {
  EXPECT_FALSE(
      Expression::Compile("p + X", kConstants, kVariables)->uses_variables());
  EXPECT_TRUE(
      Expression::Compile("p + Y", kConstants, kVariables)->uses_variables());
}

TEST(ExpressionTest, ListsTheVariablesItUses) {
  const std::vector<std::string> variables = {"a", "b", "c"};
  EXPECT_EQ(
      Expression::Compile("max(c, a) >= c + 1", {}, variables)->UsedVariables(),
      (std::vector<int32_t>{2, 0}));
}

TEST(ExpressionTest, ReplacesNames) {
  const auto replacement =
      [](absl::string_view name) -> std::optional<std::string> {
    if (name == "p") return ValueText(-7);
    if (name == "a") return "b_a";
    return std::nullopt;
  };
  // A variable of sum() hides what stands for its name outside.
  EXPECT_EQ(*ReplaceNames(" p*a <= sum(a, 0, a, a+p)+ 2 ", replacement),
            " (-7)*b_a <= sum(a, 0, b_a, a+(-7))+ 2 ");
  EXPECT_THAT(
      std::string(ReplaceNames("a + q", replacement).status().message()),
      HasSubstr("unknown name \"q\"; where: column 5"));
  EXPECT_FALSE(ReplaceNames("a +", replacement).ok());
}

TEST(ExpressionTest, IsPrintedAsCalls) {
  const std::vector<std::string> variables = {"a", "b"};
  const std::vector<Constant> constants = {
      {"p", -7}, {"q", std::numeric_limits<int64_t>::min()}};
  const auto calls = [&](absl::string_view text) {
    return Expression::Compile(text, constants, variables)
        ->AsCalls({"r[0]", "r[1]"});
  };
  EXPECT_EQ(calls("-a + 2 * (b - p)"),
            "plus(negative(r[0]), times(2, minus(r[1], negative(7))))");
  EXPECT_EQ(calls("select(a >= b, ceildiv(a, 2), floordiv(b, 3))"),
            "select(at_most(r[1], r[0]), ceildiv(r[0], 2), floordiv(r[1], 3))");
  EXPECT_EQ(calls("min(a == 1, max(b != 2, a < 3))"),
            "min(equal(r[0], 1), max(unequal(r[1], 2), less(r[0], 3)))");
  EXPECT_EQ(calls("q"), "minus(negative(9223372036854775807), 1)");
  EXPECT_EQ(calls("1 + sum(i, 0, a, i)"), std::nullopt);
}

}  // namespace
}  // namespace edgekiln::target
