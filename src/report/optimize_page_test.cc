#include "report/optimize_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "report/plot_scale.h"

namespace kernelsmith {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ArchivedCandidate Candidate(int64_t number, const std::string& verdict, double us,
                            std::vector<int64_t> parents) {
  ArchivedCandidate candidate;
  candidate.id = 100 + number;
  candidate.number = number;
  candidate.verdict = verdict;
  candidate.stage = "verify";
  candidate.proposer = "mutate";
  candidate.note = "threads 64 -> 128";
  candidate.source = "// <kernel> & \"text\"";
  if (us > 0) {
    candidate.time_ns = us * 1e3;
    candidate.time_kind = "estimated";
  }
  candidate.parents = std::move(parents);
  return candidate;
}

OptimizePage Page() {
  OptimizePage page;
  page.task = "softmax <script>";
  page.direction = "forward";
  page.dtype = "task";
  page.configuration = "rows=4096";
  page.eager_seconds = 60e-6;
  page.floor_seconds = 20e-6;
  page.candidates = {Candidate(0, "verified", 50, {}), Candidate(1, "refuted", 0, {100}),
                     Candidate(2, "verified", 40, {100}), Candidate(3, "rejected", 45, {100, 102}),
                     Candidate(4, "verified", 30, {100, 102})};
  page.best = 4;
  page.lineage = {0, 2, 4};
  page.reasons = {"DRAM: less"};
  page.counters = {{"DRAM traffic", "2 MB", "1 MB"}};
  page.roofline = {{"first", 1e9, 1e8, 50e-6}, {"best", 1e9, 1e8, 30e-6}};
  return page;
}

// Every element that is opened is closed, in order.
void ExpectBalanced(const std::string& html) {
  static const std::regex tag("<(/?)([a-z0-9]+)[^>]*?(/?)>");
  std::vector<std::string> open;
  for (std::sregex_iterator at(html.begin(), html.end(), tag), end; at != end; ++at) {
    const std::string name = (*at)[2];
    if ((*at)[3] == "/" || name == "meta") continue;
    if ((*at)[1] != "/") {
      open.push_back(name);
      continue;
    }
    ASSERT_FALSE(open.empty()) << name;
    ASSERT_EQ(open.back(), name);
    open.pop_back();
  }
  EXPECT_TRUE(open.empty());
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(OptimizePage, IsOneFileWithThreePlots) {
  const std::string html = OptimizeHtml(Page());
  ExpectBalanced(html.substr(html.find("<body>"), html.find("</html>") - html.find("<body>")));
  EXPECT_EQ(Count(html, "<svg "), 3u);
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
  for (const char* outside : {"http:", "https:", "src=", "@import", "url("}) {
    EXPECT_THAT(html, Not(HasSubstr(outside)));
  }
  EXPECT_THAT(html, HasSubstr("estimated"));
  EXPECT_THAT(html, HasSubstr("1.67x"));  // the first version
  EXPECT_THAT(html, HasSubstr("2.00x"));  // eager
}

TEST(OptimizePage, TextOfCandidatesIsNeverMarkup) {
  OptimizePage page = Page();
  page.candidates[1].note = "<img onerror=x>";
  page.candidates[1].reason = "\"><script>alert(1)</script>";
  const std::string html = OptimizeHtml(page);
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, HasSubstr("&lt;kernel&gt; &amp; &quot;text&quot;"));
}

TEST(OptimizePage, ProgressHasEveryCandidateOnce) {
  const std::string plot = ProgressPlot(Page());
  EXPECT_EQ(Count(plot, "<circle"), 4u);
  EXPECT_EQ(Count(plot, "<rect"), 1u);  // without a time
}

TEST(OptimizePage, LineageHasVerifiedOnesAndCountsTheOthers) {
  const std::string plot = LineagePlot(Page());
  EXPECT_EQ(Count(plot, "<circle"), 3u);
  EXPECT_EQ(Count(plot, "<path"), 2u);
  EXPECT_EQ(Count(plot, "stroke-dasharray"), 1u);  // the other parent
  EXPECT_THAT(plot, HasSubstr("0: 50.00 us (+1)"));
}

TEST(OptimizePage, RunsWithNothingToShowHaveAPage) {
  OptimizePage page;
  page.task = "empty";
  const std::string html = OptimizeHtml(page);
  EXPECT_THAT(html, Not(HasSubstr("nan")));
  EXPECT_THAT(html, Not(HasSubstr("inf")));
}

TEST(PlotScale, IsLogarithmic) {
  const LogScale scale(1, 100, 0, 200);
  EXPECT_NEAR(scale.At(10), 100, 1e-9);
  EXPECT_GT(scale.At(1), 0);
  EXPECT_LT(scale.At(100), 200);
  EXPECT_EQ(scale.Ticks(), (std::vector<double>{1, 2, 5, 10, 20, 50, 100}));
}

}  // namespace
}  // namespace kernelsmith
