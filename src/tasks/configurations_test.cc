#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tasks/task.h"

namespace kernelsmith {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::vector<TaskConfiguration> Parse(const std::string& text) {
  Result<std::vector<TaskConfiguration>> parsed = ParseRobustConfigurations(text, "c.json");
  EXPECT_TRUE(parsed.ok()) << parsed.error().Format();
  return parsed.ok() ? *std::move(parsed) : std::vector<TaskConfiguration>{};
}

TEST(RobustConfigurations, AreTheProductOfInitInputAndShared) {
  const auto all = Parse(R"({
    "single_input_configs": [{"batch": 1}, {"batch": 8}],
    "single_init_configs": [{"eps": 1e-5}],
    "single_shared_configs": [{"width": 4}, {"width": 6}]})");
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[1].values["input"], json({{"batch", 1}, {"width", 6}}));
  EXPECT_EQ(all[1].values["init"], json({{"eps", 1e-5}, {"width", 6}}));
  EXPECT_EQ(all[2].values["input"]["batch"], 8);
  EXPECT_EQ(all[0].group, "single");
  EXPECT_EQ(all[0].name, "batch=1 width=4 eps=1e-05");
}

TEST(RobustConfigurations, SharedValuesOverrideTheOthers) {
  const auto all = Parse(R"({"single_input_configs": [{"n": 1}], "single_init_configs": [{"n": 2}],
                             "single_shared_configs": [{"n": 3}]})");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].values["input"]["n"], 3);
  EXPECT_EQ(all[0].values["init"]["n"], 3);
}

TEST(RobustConfigurations, MultiRepeatsNoSingle) {
  const auto all = Parse(R"({"single_input_configs": [{"n": 1}],
                             "multi_input_configs": [{"n": 1}, {"n": 2}]})");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].group, "single");
  EXPECT_EQ(all[1].group, "multi");
  EXPECT_EQ(all[1].values["input"]["n"], 2);
}

TEST(RobustConfigurations, EmptyListsMeanOneEmptyEntry) {
  const auto all = Parse(R"({"single_input_configs": [], "single_init_configs": [{}],
                             "single_shared_configs": [{}]})");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, "default");
}

TEST(RobustConfigurations, TellWhereTheyAreMalformed) {
  const auto broken = ParseRobustConfigurations("{\n  \"single_input_configs\": [,]\n}", "c.json");
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().diagnostics()[0].where, (SourceLocation{"c.json", 2, 28}));
  const auto wrong_type = ParseRobustConfigurations(R"({"single_input_configs": 3})", "c.json");
  ASSERT_FALSE(wrong_type.ok());
  EXPECT_THAT(wrong_type.error().message(), HasSubstr("single_input_configs must be a list"));
  const auto wrong_entry = ParseRobustConfigurations(R"({"single_init_configs": [3]})", "c.json");
  ASSERT_FALSE(wrong_entry.ok());
  EXPECT_THAT(wrong_entry.error().message(), HasSubstr("must hold objects, found 3"));
  const auto nothing = ParseRobustConfigurations("{}", "c.json");
  ASSERT_FALSE(nothing.ok());
  EXPECT_THAT(nothing.error().message(), HasSubstr("no configurations"));
  EXPECT_FALSE(ParseRobustConfigurations("[]", "c.json").ok());
}

TEST(RobustConfigurations, ExplosionsAreRefused) {
  json list = json::array();
  for (int i = 0; i < 200; ++i) list.push_back({{"n", i}});
  const json document = {{"single_input_configs", list}, {"single_init_configs", list}};
  const auto result = ParseRobustConfigurations(document.dump(), "c.json");
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message(), HasSubstr("200 x 200"));
}

TEST(ConfigurationName, ListsShapesWithCrosses) {
  EXPECT_EQ(ConfigurationName({{"input", {{"shape", {4, 8}}}}, {"sizes", {{"128", 4}}}}),
            "shape=4x8 128->4");
}

}  // namespace
}  // namespace kernelsmith
