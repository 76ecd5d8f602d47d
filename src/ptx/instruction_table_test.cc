#include "ptx/instruction_table.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "ptx/mnemonic.h"

namespace kernelsmith::ptx {
namespace {

std::shared_ptr<const Mnemonic> Decode(const std::string& text, std::string* error) {
  Lexer lexer(text);
  std::vector<Lexer::Word> words;
  lexer.TakeMnemonic(lexer.Next(), &words);
  Reporter reporter(text, "table", 10);
  std::shared_ptr<const Mnemonic> mnemonic = DecodeMnemonic(words, &reporter);
  if (mnemonic == nullptr) *error = reporter.TakeError().message();
  return mnemonic;
}

TEST(InstructionTableTest, EveryInstructionHasFormsAndAUniqueName) {
  std::set<std::string_view> names;
  for (const InstructionEntry& entry : InstructionTable()) {
    EXPECT_FALSE(FormsOf(entry.opcode).empty()) << entry.name;
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_EQ(NameOf(entry.opcode), entry.name);
  }
  EXPECT_EQ(NameOf(Opcode::kSetmaxnreg), "setmaxnreg");
}

TEST(InstructionTableTest, LongestNameWins) {
  const std::pair<const char*, Opcode> cases[] = {
      {"cp.async.cg.shared.global", Opcode::kCpAsync},
      {"cp.async.wait_group", Opcode::kCpAsyncWaitGroup},
      {"cp.async.bulk.commit_group", Opcode::kCpAsyncBulkCommitGroup},
      {"bar.warp.sync", Opcode::kBarWarpSync},
      {"bar.sync", Opcode::kBar},
      {"fence.proxy.async", Opcode::kFenceProxy},
      {"fence.acq_rel.gpu", Opcode::kFence},
      {"barrier.cluster.wait.aligned", Opcode::kBarrierCluster},
      {"mbarrier.arrive.expect_tx.shared.b64", Opcode::kMbarrierArrive},
  };
  for (const auto& [text, opcode] : cases) {
    std::string error;
    const auto mnemonic = Decode(text, &error);
    ASSERT_NE(mnemonic, nullptr) << text << ": " << error;
    EXPECT_EQ(mnemonic->opcode, opcode) << text;
  }
}

TEST(InstructionTableTest, ModifiersMayStandInAnyOrder) {
  std::string error;
  for (const char* text : {"st.global.release.gpu.b32", "st.release.gpu.global.b32",
                           "ldmatrix.sync.aligned.x4.trans.m8n8.shared.b16", "vote.ballot.sync.b32",
                           "atom.add.release.gpu.u32", "atom.global.sys.exch.b32"}) {
    EXPECT_NE(Decode(text, &error), nullptr) << text << ": " << error;
  }
  EXPECT_EQ(Decode("cvt.f32.rn.f33", &error), nullptr);
  EXPECT_EQ(error, "instruction 'cvt' has no modifier '.f33'");
}

// What 745 real CUDA files use.
TEST(InstructionTableTest, RealCodeIsKnown) {
  std::ifstream file(KS_PTX_SYNTAX_DIR "/mnemonics.txt");
  std::string line;
  int count = 0;
  while (std::getline(file, line)) {
    std::string error;
    EXPECT_NE(Decode(line, &error), nullptr) << line << ": " << error;
    ++count;
  }
  EXPECT_EQ(count, 710);
}

}  // namespace
}  // namespace kernelsmith::ptx
