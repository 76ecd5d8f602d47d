#include "checkers/report.h"

#include <gtest/gtest.h>

namespace kernelsmith::checkers {
namespace {

using nlohmann::json;

TEST(Report, EveryKindComesBackFromACheckedProgram) {
  for (const FindingKindRow& row : FindingKinds()) {
    const Finding finding{.kind = row.kind,
                          .severity = row.severity,
                          .place = {.kernel = "k"},
                          .message = "it is wrong",
                          .other = Place{.kernel = "other"},
                          .other_message = "there",
                          .host_sees_it = true};
    const auto read = DecodeReport(EncodeFinding(finding) + "\n");
    ASSERT_TRUE(read.ok()) << read.error().Format();
    ASSERT_EQ(read->size(), 1u);
    EXPECT_EQ(read->front().kind, row.kind) << row.word;
    EXPECT_EQ(read->front().message, "it is wrong");
    EXPECT_TRUE(read->front().host_sees_it);
  }
}

TEST(Report, AnUnknownKindIsAnError) {
  json line = json::parse(EncodeFinding({.kind = FindingKind::kRace}));
  line["finding"]["kind"] = "a_word_of_nobody";
  EXPECT_FALSE(DecodeReport(line.dump() + "\n").ok());
}

TEST(Report, SarifRulesAreRowsOfTheTable) {
  const std::vector<Finding> findings = {
      {.kind = FindingKind::kRace},
      {.kind = FindingKind::kLeak, .severity = Severity::kWarning},
      {.kind = FindingKind::kRace}};
  const json report = ReportSarif(findings, {.version = "1", .home = "file:///home"});
  const json& driver = report["runs"][0]["tool"]["driver"];
  ASSERT_EQ(driver["rules"].size(), 2u);
  for (const json& rule : driver["rules"]) {
    const auto kind = FindingKindOf(rule["id"].get<std::string>());
    ASSERT_TRUE(kind.has_value());
    const FindingKindRow& row = RowOf(*kind);
    EXPECT_EQ(rule["shortDescription"]["text"], row.meaning);
    EXPECT_EQ(rule["help"]["text"], std::string(row.meaning) + " " + row.advice);
    EXPECT_EQ(rule["helpUri"], "file:///home/docs/findings.md#" + std::string(row.word));
    EXPECT_EQ(rule["defaultConfiguration"]["level"], NameOf(row.severity));
  }
  EXPECT_EQ(report["runs"][0]["results"].size(), 3u);
  const json without = ReportSarif(findings, {.version = "1", .home = ""});
  EXPECT_FALSE(without["runs"][0]["tool"]["driver"]["rules"][0].contains("helpUri"));
}

}  // namespace
}  // namespace kernelsmith::checkers
