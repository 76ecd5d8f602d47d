#include "cudart/fat_binary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lz4.h>
#include <zstd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/rng.h"

namespace kernelsmith::cudart {
namespace {

using ::testing::HasSubstr;

// A fat binary put together field by field, as the comment in fat_binary.h describes it.
class Writer {
 public:
  struct Entry {
    uint16_t kind = 1;
    uint32_t architecture = 90;
    uint64_t flags = 0x11;
    std::string payload;        // as stored
    uint64_t uncompressed = 0;  // 0: not compressed
    std::string name;
  };

  void Add(const Entry& entry) {
    const uint32_t header_bytes = 80 + Padded(entry.name.size());
    std::string header(header_bytes, '\0');
    Put<uint16_t>(&header, 0, entry.kind);
    Put<uint16_t>(&header, 2, 0x101);
    Put<uint32_t>(&header, 4, header_bytes);
    Put<uint64_t>(&header, 8, Padded(entry.payload.size()));
    Put<uint32_t>(&header, 16,
                  entry.uncompressed == 0 ? 0 : static_cast<uint32_t>(entry.payload.size()));
    Put<uint32_t>(&header, 20, 64);
    Put<uint16_t>(&header, 26, 9);
    Put<uint32_t>(&header, 28, entry.architecture);
    Put<uint32_t>(&header, 32, entry.name.empty() ? 0 : 80);
    Put<uint32_t>(&header, 36, static_cast<uint32_t>(entry.name.size()));
    Put<uint64_t>(&header, 40, entry.flags);
    Put<uint64_t>(&header, 56, entry.uncompressed);
    std::memcpy(header.data() + 80, entry.name.data(), entry.name.size());
    body_ += header + entry.payload;
    body_.resize(body_.size() + Padded(entry.payload.size()) - entry.payload.size());
  }

  std::string Finish() const {
    std::string image(16, '\0');
    Put<uint32_t>(&image, 0, 0xba55ed50);
    Put<uint16_t>(&image, 4, 1);
    Put<uint16_t>(&image, 6, 16);
    Put<uint64_t>(&image, 8, body_.size());
    return image + body_;
  }

  template <typename T>
  static void Put(std::string* bytes, size_t at, T value) {
    std::memcpy(bytes->data() + at, &value, sizeof(T));
  }

 private:
  static uint32_t Padded(size_t size) { return static_cast<uint32_t>((size + 7) / 8 * 8); }
  std::string body_;
};

Bytes AsBytes(const std::string& text) {
  return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

std::string SampleText() {
  std::string text = ".version 9.0\n.target sm_90\n.address_size 64\n";
  for (int i = 0; i < 200; ++i) text += ".global .u32 v" + std::to_string(i) + ";\n";
  return text;
}

std::string Zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

std::string Lz4(const std::string& text) {
  std::string out(static_cast<size_t>(LZ4_compressBound(static_cast<int>(text.size()))), '\0');
  out.resize(static_cast<size_t>(LZ4_compress_default(
      text.data(), out.data(), static_cast<int>(text.size()), static_cast<int>(out.size()))));
  return out;
}

Result<std::string> ChosenText(const std::string& image, const char* gpu = "h100") {
  KS_TRY(const GpuModel* model, FindGpuModel(gpu));
  KS_TRY(const FatBinary binary, ParseFatBinary(AsBytes(image)));
  KS_TRY(const FatBinaryEntry* entry, ChoosePtx(binary, *model));
  return EntryText(*entry);
}

std::string Sample(const char* name) {
  std::ifstream in(std::filesystem::path(KS_TEST_DATA) / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(FatBinary, ReadsPlainText) {
  Writer writer;
  writer.Add({.payload = SampleText(), .name = "a.cu"});
  const std::string image = writer.Finish();
  const Result<FatBinary> binary = ParseFatBinary(AsBytes(image));
  ASSERT_TRUE(binary.ok());
  ASSERT_EQ(binary->entries.size(), 1U);
  EXPECT_EQ(binary->entries[0].file_name, "a.cu");
  EXPECT_EQ(binary->entries[0].architecture, 90);
  EXPECT_EQ(binary->entries[0].isa_major, 9);
  EXPECT_EQ(*EntryText(binary->entries[0]), SampleText());
}

TEST(FatBinary, ReadsCompressedText) {
  const std::string text = SampleText();
  for (const bool zstd : {true, false}) {
    Writer writer;
    writer.Add({.flags = zstd ? 0x8011U : 0x2011U,
                .payload = zstd ? Zstd(text) : Lz4(text),
                .uncompressed = text.size()});
    EXPECT_EQ(*ChosenText(writer.Finish()), text);
  }
}

TEST(FatBinary, TakesPtxTextAsItIs) {
  EXPECT_EQ(*ChosenText("\n// made by hand\n.version 8.0\n"), "\n// made by hand\n.version 8.0\n");
  EXPECT_EQ(*ChosenText(std::string("  .version 8.0\n\0garbage", 24)), "  .version 8.0\n");
}

TEST(FatBinary, ChoosesTheNewestArchitectureThatRuns) {
  Writer writer;
  writer.Add({.architecture = 80, .payload = "// 80"});
  writer.Add({.kind = 2, .architecture = 90, .payload = "machine code"});
  writer.Add({.architecture = 75, .payload = "// 75"});
  writer.Add({.architecture = 90, .payload = "// 90"});
  writer.Add({.architecture = 90, .flags = 0x100011, .payload = "// 90a"});
  writer.Add({.architecture = 100, .flags = 0x200011, .payload = "// 100f"});
  const std::string image = writer.Finish();
  EXPECT_EQ(*ChosenText(image, "h100"), "// 90a");
  EXPECT_EQ(*ChosenText(image, "a100"), "// 80");
  EXPECT_EQ(*ChosenText(image, "l4"), "// 80");
  EXPECT_EQ(*ChosenText(image, "t4"), "// 75");
  EXPECT_EQ(*ChosenText(image, "b200"), "// 100f");
}

TEST(FatBinary, SaysWhatIsThereInsteadOfPtx) {
  Writer sass;
  sass.Add({.kind = 2, .architecture = 80, .payload = "machine code"});
  const Result<std::string> only_sass = ChosenText(sass.Finish());
  ASSERT_FALSE(only_sass.ok());
  EXPECT_EQ(only_sass.error().kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(only_sass.error().message(),
            "has no PTX, only machine code for sm_80; build with -gencode "
            "arch=compute_90,code=compute_90");

  Writer newer;
  newer.Add({.architecture = 100, .payload = "// 100"});
  newer.Add({.architecture = 80, .flags = 0x100011, .payload = "// 80a"});
  const Result<std::string> too_new = ChosenText(newer.Finish());
  ASSERT_FALSE(too_new.ok());
  EXPECT_THAT(too_new.error().message(), HasSubstr("has PTX only for compute_100, compute_80a"));
}

TEST(FatBinary, RefusesWrongSizes) {
  Writer writer;
  writer.Add({.payload = SampleText()});
  std::string image = writer.Finish();
  for (size_t length = 0; length < image.size(); length += 7) {
    const Result<FatBinary> cut = ParseFatBinary(AsBytes(image.substr(0, length)));
    EXPECT_FALSE(cut.ok()) << length;
  }
  Writer::Put<uint64_t>(&image, 8, UINT64_MAX);
  EXPECT_FALSE(ParseFatBinary(AsBytes(image)).ok());
  image = writer.Finish();
  Writer::Put<uint64_t>(&image, 16 + 8, UINT64_MAX - 79);  // header + payload overflows
  EXPECT_FALSE(ParseFatBinary(AsBytes(image)).ok());
  image = writer.Finish();
  Writer::Put<uint32_t>(&image, 16 + 4, 8);  // an entry's header shorter than its fields
  EXPECT_FALSE(ParseFatBinary(AsBytes(image)).ok());
}

TEST(FatBinary, RefusesDamagedCompression) {
  const std::string text = SampleText();
  // Damage in the middle of the data.
  for (const bool zstd : {true, false}) {
    std::string packed = zstd ? Zstd(text) : Lz4(text);
    packed.resize(packed.size() / 2);
    Writer writer;
    writer.Add({.flags = zstd ? 0x8011U : 0x2011U, .payload = packed, .uncompressed = text.size()});
    EXPECT_FALSE(ChosenText(writer.Finish()).ok());
  }
  // Claims: more than the data holds, less than it holds, far too much.
  for (const uint64_t claim : {uint64_t{10}, uint64_t{1} << 29, UINT64_MAX}) {
    Writer writer;
    writer.Add({.flags = 0x2011, .payload = Lz4(text), .uncompressed = claim});
    EXPECT_FALSE(ChosenText(writer.Finish()).ok()) << claim;
  }
  Writer bomb;  // 1 GB of zeros in a few KB, said to be 100 bytes
  bomb.Add(
      {.flags = 0x8011, .payload = Zstd(std::string(size_t{1} << 26, 'x')), .uncompressed = 100});
  EXPECT_FALSE(ChosenText(bomb.Finish()).ok());
}

TEST(FatBinary, ReadsWhatNvccWrites) {
  for (const char* name : {"plain.fatbin", "lz4.fatbin", "zstd.fatbin", "several.fatbin",
                           "relocatable.fatbin", "specific.fatbin"}) {
    const Result<std::string> text = ChosenText(Sample(name));
    ASSERT_TRUE(text.ok()) << name << ": " << text.error().message();
    EXPECT_THAT(*text, HasSubstr(".entry _Z7add_onePi")) << name;
    EXPECT_THAT(*text, HasSubstr(".target sm_90")) << name;
  }
  EXPECT_FALSE(ChosenText(Sample("sass_only.fatbin")).ok());
  EXPECT_THAT(*ChosenText(Sample("several.fatbin"), "a100"), HasSubstr(".target sm_80"));
  EXPECT_THAT(*ChosenText(Sample("several.fatbin"), "b200"), HasSubstr(".target sm_100"));
  const std::string relocatable = Sample("relocatable.fatbin");
  const Result<FatBinary> binary = ParseFatBinary(AsBytes(relocatable));
  EXPECT_THAT(binary->entries.at(0).options, HasSubstr("--compile-only"));
}

TEST(FatBinary, SurvivesMutations) {
  Rng rng(20240601);
  for (const char* name : {"plain.fatbin", "lz4.fatbin", "zstd.fatbin", "several.fatbin"}) {
    const std::string original = Sample(name);
    ASSERT_FALSE(original.empty());
    for (int round = 0; round < 2000; ++round) {
      std::string image = original;
      for (int change = 0; change < 4; ++change) {
        const size_t at = static_cast<size_t>(rng.Next() % (round % 2 == 0 ? 100 : image.size()));
        if (at < image.size()) image[at] = static_cast<char>(rng.Next());
      }
      image.resize(static_cast<size_t>(rng.Next() % (image.size() + 1)));
      (void)ChosenText(image);  // any answer, but an answer
    }
  }
}

TEST(FatBinary, ReadableMemoryEndsWhereTheMappingEnds) {
  static const char text[] = "abc";
  const Bytes readable = ReadableFrom(text);
  ASSERT_GE(readable.size(), sizeof(text));
  EXPECT_EQ(std::memcmp(readable.data(), text, sizeof(text)), 0);
  EXPECT_TRUE(ReadableFrom(nullptr).empty());
}

}  // namespace
}  // namespace kernelsmith::cudart
