// Writer and reader: what is written is read back, and what is wrong is refused in words.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "pmemsim/trace/reader.hpp"
#include "pmemsim/trace/site_flags.hpp"
#include "pmemsim/trace/writer.hpp"
#include "trace_builder.hpp"

namespace pmemsim::trace {
namespace {

void expect_mentions(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << '"' << text << "\" doesn't mention \"" << part;
}

class TraceFileTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "pmemsim_trace_file_" + std::to_string(getpid()) + ".pmt";
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::vector<Operation> read_all(const TraceFile& file, std::uint32_t thread) {
    OperationStream stream(file, thread);
    std::vector<Operation> operations;
    Operation operation;
    while (stream.next(operation)) {
      operation.value = nullptr;  // valid until the next call only
      operations.push_back(operation);
    }
    return operations;
  }

  // The complaint about the file, or "" if it reads right to the end.
  std::string complaint() {
    try {
      const TraceFile file(path_);
      for (std::uint32_t thread = 0; thread < file.metadata().threads; ++thread) {
        read_all(file, thread);
      }
    } catch (const TraceError& error) {
      return error.what();
    }
    return "";
  }

  std::string path_;
};

TEST_F(TraceFileTest, EveryKindOfOperationReadsBackUnchanged) {
  TraceBuilder builder;
  const auto load = builder.site(SiteKind::kLoad, 8, 3, {}, {}, 0, 0, {"a.c", "f", 12});
  const auto store = builder.site(SiteKind::kStore, 64, 2, {load << 8 | 1}, {load << 8 | 4});
  const auto non_temporal = builder.site(SiteKind::kNonTemporal, 16);
  const auto atomic_load = builder.site(SiteKind::kAtomicLoad, 4);
  const auto atomic_store = builder.site(SiteKind::kAtomicStore, 4, 1, {}, {}, 0, kSiteFullFence);
  const auto update = builder.site(SiteKind::kAtomicUpdate, 8);
  const auto copy_load = builder.site(SiteKind::kCopyLoad);
  const auto copy_store = builder.site(SiteKind::kCopyStore);
  const auto branch = builder.site(SiteKind::kBranch, 0, 2, {}, {load << 8});
  const auto execute = builder.site(SiteKind::kExecute, 0, 17);
  const auto recurrence = builder.site(SiteKind::kRecurrence, 0, 0, {}, {load << 8 | 4});
  const auto flush = builder.site(SiteKind::kFlush, 0, 1, {}, {}, 1);
  const auto fence = builder.site(SiteKind::kFence, 0, 1, {}, {}, 2);
  const auto jump = builder.site(SiteKind::kIndirectBranch, 0, 4, {}, {load << 8});
  builder.access(load, 0x1000);
  builder.store(store, 0x1040, 0x1122334455667788);
  builder.store(non_temporal, 0x1080, 5);
  builder.atomic(atomic_load, 0x2000, 3, 9);
  builder.atomic(atomic_store, 0x2004, 4, 10, 77);
  builder.atomic(update, 0x2008, 5, 11, 78, true);
  builder.copy(copy_load, 0x3000, 16);
  builder.copy(copy_store, 0x4000, 3, 0xabcdef);
  builder.branch(branch, true);
  builder.plain(execute);
  builder.recurrence(recurrence, true);
  builder.access(flush, 0x1044);
  builder.plain(fence);
  builder.external(4242);
  builder.indirect_branch(jump, 0xfffffffe);
  builder.mark(MarkKind::kLogRange, 0x1040, 64);
  builder.sync(SyncKind::kMutexUnlock, 0x5000, 6, 1);
  builder.sync(SyncKind::kMutexLock, 0x5000, 6, 1, true);
  builder.thread(1).access(load, 0x9000);
  builder.pm_region(0x1000, 0x2000);
  builder.write(path_);

  const TraceFile file(path_);
  EXPECT_EQ(file.metadata().program, "test");
  EXPECT_EQ(file.metadata().workload, "unit");
  EXPECT_EQ(file.metadata().seed, 7u);
  EXPECT_EQ(file.metadata().threads, 2u);
  EXPECT_EQ(file.metadata().sync_objects, 7u);
  ASSERT_EQ(file.metadata().pm_regions.size(), 1u);
  EXPECT_EQ(file.metadata().pm_regions[0].end, 0x2000u);
  EXPECT_EQ(file.operations(0), 18u);
  EXPECT_EQ(file.operations(1), 1u);
  const SiteRecord& load_site = file.sites().sites()[load];
  EXPECT_EQ(file.sites().string(load_site.file), "a.c");
  EXPECT_EQ(file.sites().string(load_site.function), "f");
  EXPECT_EQ(load_site.line, 12u);
  EXPECT_EQ(file.sites().dependences(file.sites().sites()[store])[1], load << 8 | 4);

  OperationStream stream(file, 0);
  Operation op;
  ASSERT_TRUE(stream.next(op));
  EXPECT_EQ(op.kind, SiteKind::kLoad);
  EXPECT_EQ(op.address, 0x1000u);
  EXPECT_EQ(op.size, 8);
  EXPECT_EQ(op.instructions, 3u);
  EXPECT_EQ(op.value, nullptr);
  EXPECT_EQ(op.second, 0u);
  EXPECT_EQ(op.object, 0u);
  ASSERT_TRUE(stream.next(op));
  EXPECT_EQ(op.kind, SiteKind::kStore);
  EXPECT_EQ(op.size, 64);
  EXPECT_EQ(std::to_integer<int>(op.value[0]), 0x88);
  EXPECT_EQ(std::to_integer<int>(op.value[63]), 0x11);
  ASSERT_TRUE(stream.next(op));
  EXPECT_EQ(op.kind, SiteKind::kNonTemporal);
  EXPECT_EQ(op.size, 16);
  ASSERT_TRUE(stream.next(op));
  EXPECT_EQ(op.kind, SiteKind::kAtomicLoad);
  EXPECT_EQ(op.object, 3u);
  EXPECT_EQ(op.version, 9u);
  ASSERT_TRUE(stream.next(op));
  EXPECT_EQ(op.site_flags, kSiteFullFence);
  EXPECT_EQ(std::to_integer<int>(op.value[0]), 77);
  ASSERT_TRUE(stream.next(op));
  EXPECT_EQ(op.kind, SiteKind::kAtomicUpdate);
  EXPECT_TRUE(op.flag);
  EXPECT_EQ(op.version, 11u);
  ASSERT_TRUE(stream.next(op));
  EXPECT_EQ(op.kind, SiteKind::kCopyLoad);
  EXPECT_EQ(op.size, 16);
  EXPECT_EQ(op.value, nullptr);
  ASSERT_TRUE(stream.next(op));
  EXPECT_EQ(op.kind, SiteKind::kCopyStore);
  EXPECT_EQ(op.size, 3);
  EXPECT_EQ(std::to_integer<int>(op.value[2]), 0xab);
  ASSERT_TRUE(stream.next(op));
  EXPECT_EQ(op.kind, SiteKind::kBranch);
  EXPECT_TRUE(op.flag);
  EXPECT_EQ(op.address, 0u);
  ASSERT_TRUE(stream.next(op));
  EXPECT_EQ(op.kind, SiteKind::kExecute);
  EXPECT_EQ(op.instructions, 17u);
  ASSERT_TRUE(stream.next(op));
  EXPECT_EQ(op.kind, SiteKind::kRecurrence);
  EXPECT_TRUE(op.flag);
  ASSERT_TRUE(stream.next(op));
  EXPECT_EQ(op.kind, SiteKind::kFlush);
  EXPECT_EQ(op.detail, 1);
  EXPECT_EQ(op.address, 0x1044u);
  ASSERT_TRUE(stream.next(op));
  EXPECT_EQ(op.kind, SiteKind::kFence);
  EXPECT_EQ(op.detail, 2);
  ASSERT_TRUE(stream.next(op));
  EXPECT_EQ(op.kind, SiteKind::kExternal);
  EXPECT_EQ(op.instructions, 4242u);
  EXPECT_EQ(op.address, 0u);
  ASSERT_TRUE(stream.next(op));
  EXPECT_EQ(op.kind, SiteKind::kIndirectBranch);
  EXPECT_EQ(op.address, 0xfffffffeu);
  EXPECT_EQ(op.instructions, 4u);
  ASSERT_TRUE(stream.next(op));
  EXPECT_EQ(op.kind, SiteKind::kMark);
  EXPECT_EQ(static_cast<MarkKind>(op.detail), MarkKind::kLogRange);
  EXPECT_EQ(op.address, 0x1040u);
  EXPECT_EQ(op.second, 64u);
  EXPECT_EQ(op.instructions, 0u);
  ASSERT_TRUE(stream.next(op));
  EXPECT_EQ(op.kind, SiteKind::kSync);
  EXPECT_EQ(static_cast<SyncKind>(op.detail), SyncKind::kMutexUnlock);
  EXPECT_EQ(op.object, 6u);
  EXPECT_EQ(op.instructions, 0u);
  EXPECT_FALSE(op.flag);
  ASSERT_TRUE(stream.next(op));
  EXPECT_EQ(static_cast<SyncKind>(op.detail), SyncKind::kMutexLock);
  EXPECT_TRUE(op.flag);
  EXPECT_FALSE(stream.next(op));
  EXPECT_FALSE(stream.next(op));
  EXPECT_EQ(stream.position(), 18u);
}

TEST_F(TraceFileTest, ReadsEveryKindOfSynchronisation) {
  TraceBuilder builder;
  for (std::uint8_t kind = 0; kind < kSyncKinds; ++kind) {
    builder.sync(static_cast<SyncKind>(kind), 0x5000, kind, 1);
  }
  builder.write(path_);
  const TraceFile file(path_);
  OperationStream stream(file, 0);
  Operation op;
  for (std::uint8_t kind = 0; kind < kSyncKinds; ++kind) {
    ASSERT_TRUE(stream.next(op));
    EXPECT_EQ(op.kind, SiteKind::kSync);
    EXPECT_EQ(op.detail, kind);
    EXPECT_EQ(op.object, kind);
  }
}

TEST_F(TraceFileTest, ReadsRecordingsOlderThanSomeKinds) {
  TraceBuilder builder;
  for (std::uint32_t site = 0; site < kBuiltinSites; ++site) {
    if (came_later(site)) builder.builtin(site, unused_site());
  }
  builder.sync(SyncKind::kWait, 0x5000, 0, 0);
  builder.write(path_);
  const TraceFile file(path_);
  OperationStream stream(file, 0);
  Operation op;
  ASSERT_TRUE(stream.next(op));
  EXPECT_EQ(static_cast<SyncKind>(op.detail), SyncKind::kWait);
}

TEST_F(TraceFileTest, InlinedSiteHasItsChainOfCalls) {
  TraceBuilder builder;
  const auto plain = builder.site(SiteKind::kExecute);
  const auto deep = builder.site(SiteKind::kExecute);
  const auto shallow = builder.site(SiteKind::kExecute);
  const auto outer = builder.inlined_call({"a.c", "main", 30});
  const auto inner = builder.inlined_call({"b.h", "persist", 7}, outer);
  builder.inlined(deep, inner);
  builder.inlined(shallow, outer);
  builder.plain(plain);
  builder.write(path_);
  const TraceFile file(path_);
  const SiteTable& sites = file.sites();
  EXPECT_EQ(sites.lines(), sites.sites().size() + 2);
  EXPECT_EQ(sites.inlined_at(plain), 0);
  const std::uint32_t in_header = sites.inlined_at(deep), in_main = sites.inlined_at(in_header);
  EXPECT_EQ(sites.string(sites.line(in_header).file), "b.h");
  EXPECT_EQ(sites.string(sites.line(in_header).function), "persist");
  EXPECT_EQ(sites.line(in_header).line, 7);
  EXPECT_EQ(sites.string(sites.line(in_main).function), "main");
  EXPECT_EQ(sites.line(in_main).line, 30);
  EXPECT_EQ(sites.inlined_at(in_main), 0);
  EXPECT_EQ(sites.inlined_at(shallow), in_main);
}

// Their table's header has a zero where it now counts the inlined calls.
TEST_F(TraceFileTest, ReadsRecordingsOlderThanInlinedCalls) {
  TraceBuilder builder;
  const auto inlined = builder.site(SiteKind::kExecute, 0, 1, {}, {}, 0, kSiteInlined);
  builder.plain(inlined);
  builder.write(path_);
  const TraceFile file(path_);
  EXPECT_EQ(file.sites().lines(), file.sites().sites().size());
  EXPECT_EQ(file.sites().inlined_at(inlined), 0);
}

TEST_F(TraceFileTest, StreamsAndSeeksAcrossFrames) {
  TraceBuilder builder;
  const auto load = builder.site(SiteKind::kLoad, 8);
  constexpr std::uint64_t kCount = 5000;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    builder.thread(0).access(load, 8 * i);
    builder.thread(1).access(load, 0x100000 + 8 * i);
    if (i % 700 == 699) builder.cut();
    if (i % 900 == 899) builder.thread(0).cut();
  }
  builder.write(path_);
  const TraceFile file(path_);
  OperationStream stream(file, 1);
  Operation op;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(stream.position(), i);
    ASSERT_TRUE(stream.next(op));
    ASSERT_EQ(op.address, 0x100000 + 8 * i);
  }
  EXPECT_FALSE(stream.next(op));
  for (const std::uint64_t position : {4999u, 0u, 699u, 700u, 701u, 2100u, 2099u, 1u, 1400u}) {
    stream.seek(position);
    EXPECT_EQ(stream.position(), position);
    ASSERT_TRUE(stream.next(op));
    EXPECT_EQ(op.address, 0x100000 + 8 * position);
  }
  stream.seek(kCount);
  EXPECT_FALSE(stream.next(op));
  EXPECT_THROW(stream.seek(kCount + 1), Error);
}

TEST_F(TraceFileTest, ReaderSkipsUnwantedKindsAcrossFrames) {
  TraceBuilder builder;
  const auto load = builder.site(SiteKind::kLoad, 8);
  const auto store = builder.site(SiteKind::kStore, 64);
  const auto copy_store = builder.site(SiteKind::kCopyStore);
  const auto fence = builder.site(SiteKind::kFence);
  for (std::uint32_t i = 0; i < 500; ++i) {
    builder.access(load, 8 * i);
    if (i % 3 == 0) builder.copy(copy_store, 8 * i, static_cast<std::uint8_t>(1 + i % kCopyBytes));
    if (i % 7 == 0) builder.plain(fence);
    if (i % 5 == 0) builder.store(store, 64 * i, i);
    if (i % 11 == 0) builder.mark(MarkKind::kFree, i);
    if (i % 2 == 0) builder.cut();  // some frames have none of the kinds wanted
  }
  builder.write(path_);
  const TraceFile file(path_);
  OperationStream all(file, 0), skipping(file, 0);
  Operation expected, operation;
  while (all.next(expected)) {
    if (expected.kind != SiteKind::kFence && expected.kind != SiteKind::kMark) continue;
    skipping.skip_to({SiteKind::kFence, SiteKind::kMark});
    ASSERT_EQ(skipping.position() + 1, all.position());
    ASSERT_TRUE(skipping.next(operation));
    ASSERT_EQ(operation.kind, expected.kind);
    ASSERT_EQ(operation.address, expected.address);
  }
  skipping.skip_to({SiteKind::kFence, SiteKind::kMark});
  EXPECT_EQ(skipping.position(), all.position());
  EXPECT_FALSE(skipping.next(operation));
}

TEST_F(TraceFileTest, EqualContentsHaveEqualHashes) {
  const auto build = [&](std::uint64_t address) {
    TraceBuilder builder;
    builder.access(builder.site(SiteKind::kLoad, 8), address);
    builder.write(path_);
    return TraceFile(path_).hash();
  };
  const auto hash = build(8);
  EXPECT_EQ(build(8), hash);
  EXPECT_NE(build(16), hash);
}

// A terminal would obey them.
TEST_F(TraceFileTest, ControlCharactersInNamesAreReplaced) {
  TraceBuilder builder;
  builder.plain(
      builder.site(SiteKind::kExecute, 0, 1, {}, {}, 0, 0,
                   {"\x1b]0;pwned\a.c", "\xc3\xa9t\xc3\xa9\xc2\x9b\x7f\xe2\x82\xac\xff\xc3", 3}));
  builder.write(path_);
  const TraceFile file(path_);
  const SiteRecord& site = file.sites().sites().back();
  EXPECT_EQ(file.sites().string(site.file), "?]0;pwned?.c");
  EXPECT_EQ(file.sites().string(site.function), "\xc3\xa9t\xc3\xa9???\xe2\x82\xac??");
}

TEST_F(TraceFileTest, UnfinishedFileIsRemoved) {
  std::filesystem::remove(path_);
  {
    Writer writer(path_);
    EXPECT_TRUE(std::filesystem::exists(path_ + kPartialSuffix));
  }
  EXPECT_FALSE(std::filesystem::exists(path_ + kPartialSuffix));
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_THROW(Writer("/nonexistent/folder/trace.pmt"), Error);
}

TEST_F(TraceFileTest, ForeignFileIsRejectedWithAReason) {
  expect_mentions(complaint(), "the trace could not be opened: No such file");
  std::ofstream(path_) << "#!/bin/sh\necho this is a shell script\n";
  expect_mentions(complaint(), "this is not a .pmt file");
  std::ofstream(path_).flush();
  expect_mentions(complaint(), "this is not a .pmt file");
  FileHeader header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = 2;
  std::ofstream(path_).write(reinterpret_cast<const char*>(&header), sizeof(header));
  expect_mentions(complaint(), "written by a newer pmemsim (format 2, this one reads 1)");
  header.version = kVersion;
  std::ofstream(path_).write(reinterpret_cast<const char*>(&header), sizeof(header));
  expect_mentions(complaint(), "truncated; the file is damaged, record it again");
}

// A well-formed frame can still have impossible contents.
struct Nonsense {
  const char* name;
  const char* complaint;
  void (*build)(TraceBuilder&);
};

class TraceNonsenseTest : public TraceFileTest, public testing::WithParamInterface<Nonsense> {};

TEST_P(TraceNonsenseTest, ContradictoryRecordingIsRejected) {
  TraceBuilder builder;
  GetParam().build(builder);
  builder.write(path_);
  expect_mentions(complaint(), GetParam().complaint);
}

const Nonsense kNonsense[] = {
    {"UnknownSite", "operation 0: the record is invalid",
     [](TraceBuilder& builder) {
       TraceBuilder longer;  // knows a site that the written table lacks
       longer.plain(longer.site(SiteKind::kExecute));
       builder.take_operations(longer);
     }},
    {"ObjectOutOfRange", "operation 1: the record is invalid",
     [](TraceBuilder& builder) {
       builder.external(1);
       builder.sync(SyncKind::kSignal, 8, 5, 1);
       builder.metadata(R"({"program": "p", "threads": 1, "sync_objects": 5, "pm_regions": []})");
     }},
    {"FlagWithoutMeaning", "operation 0: the record is invalid",
     [](TraceBuilder& builder) { builder.branch(builder.site(SiteKind::kExecute), true); }},
    {"CopyOfNothing", "operation 0: the record is invalid",
     [](TraceBuilder& builder) { builder.copy(builder.site(SiteKind::kCopyLoad), 8, 0); }},
    {"CopyTooWide", "operation 0: the record is invalid",
     [](TraceBuilder& builder) { builder.copy(builder.site(SiteKind::kCopyStore), 8, 17); }},
    {"AddressTooHigh", "operation 0: the record is invalid",
     [](TraceBuilder& builder) {
       builder.access(builder.site(SiteKind::kLoad, 8), ~std::uint64_t{0} - 3);
     }},
    {"UnknownPurpose", "unknown purpose",
     [](TraceBuilder& builder) { builder.mark(MarkKind::kPurpose, kPurposes); }},
    {"UnknownFenceMeaning", "unknown fence meaning",
     [](TraceBuilder& builder) { builder.mark(MarkKind::kNextFence, kFenceMeanings); }},
    {"UnknownHint", "unknown hint",
     [](TraceBuilder& builder) {
       builder.mark(MarkKind::kHint, 0x1000, std::uint64_t{kHintKinds} << 32);
     }},
    {"SizeZero", "site 64 has an invalid size",
     [](TraceBuilder& builder) { builder.access(builder.site(SiteKind::kLoad, 0), 8); }},
    {"SizeTooWide", "site 64 has an invalid size",
     [](TraceBuilder& builder) { builder.access(builder.site(SiteKind::kLoad, 65), 8); }},
    {"MarkThatIsNotBuiltIn", "site 64 must be a built-in one",
     [](TraceBuilder& builder) {
       builder.site(SiteKind::kMark);
       builder.external(1);
     }},
    {"UnknownSynchronisation", "site 35 is not the required built-in one",
     [](TraceBuilder& builder) {
       SiteRecord newer{};
       newer.kind = static_cast<std::uint8_t>(SiteKind::kSync);
       newer.detail = kSyncKinds;
       builder.builtin(kFirstSyncSite + kSyncKinds, newer);
       builder.external(1);
     }},
    {"SynchronisationMissing", "site 24 is not the required built-in one",
     [](TraceBuilder& builder) {
       builder.builtin(sync_site(SyncKind::kSignal), unused_site());
       builder.external(1);
     }},
    {"DependsOnAStore", "depends on an operation that has no value",
     [](TraceBuilder& builder) {
       const auto store = builder.site(SiteKind::kStore, 8);
       builder.access(builder.site(SiteKind::kLoad, 8, 1, {store << 8}), 8);
     }},
    {"DependsOnASiteThatIsNotThere", "depends on an operation that has no value",
     [](TraceBuilder& builder) {
       builder.access(builder.site(SiteKind::kLoad, 8, 1, {1u << 30}), 8);
     }},
    {"TooManyDependences", "has dependences that do not exist",
     [](TraceBuilder& builder) {
       const auto load = builder.site(SiteKind::kLoad, 8);
       builder.access(builder.site(SiteKind::kLoad, 8, 1, std::vector(9, load << 8)), 8);
     }},
    {"UnknownFlush", "has an unknown detail",
     [](TraceBuilder& builder) {
       builder.access(builder.site(SiteKind::kFlush, 0, 1, {}, {}, kFlushKinds), 8);
     }},
    {"InlinedByACallThatIsNotThere", "site 64 was inlined by a call that does not exist",
     [](TraceBuilder& builder) {
       builder.inlined(builder.site(SiteKind::kExecute), builder.inlined_call({}) + 1);
       builder.external(1);
     }},
    {"BuiltInSiteThatIsInlined", "site 3 was inlined by a call that does not exist",
     [](TraceBuilder& builder) {
       builder.inlined(3, builder.inlined_call({}));
       builder.external(1);
     }},
    {"InlinedCallInItself", "inlined call 1 is inside a later one",
     [](TraceBuilder& builder) {
       builder.inlined_call({}, 1);
       builder.external(1);
     }},
    {"InlinedCallsInACircle", "inlined call 1 is inside a later one",
     [](TraceBuilder& builder) {
       builder.inlined_call({}, 2);
       builder.inlined_call({}, 1);
       builder.external(1);
     }},
    {"InlinedCallsWithoutEnd", "inlined call 1025 is inside more than 1023 others",
     [](TraceBuilder& builder) {
       for (std::uint32_t outer = 0; outer <= kMaxInlinedDepth; ++outer) {
         builder.inlined_call({}, outer);
       }
       builder.external(1);
     }},
    {"InlinedCallWithoutAFile", "inlined call 1 refers to a string that does not exist",
     [](TraceBuilder& builder) {
       builder.raw_inlined_call({.file = 1u << 20, .function = 0, .line = 1, .outer = 0});
       builder.external(1);
     }},
    {"InlinedCallWithoutAFunction", "inlined call 1 refers to a string that does not exist",
     [](TraceBuilder& builder) {
       builder.raw_inlined_call({.file = 0, .function = 1u << 20, .line = 1, .outer = 0});
       builder.external(1);
     }},
    {"MetadataIsNotJson", "the metadata are invalid",
     [](TraceBuilder& builder) {
       builder.external(1);
       builder.metadata("{");
     }},
    {"MetadataThatIsNotUnicode", "invalid string: ill-formed UTF-8 byte; last read: '\"?'",
     [](TraceBuilder& builder) {
       builder.external(1);
       builder.metadata(
           "{\"program\": \"\x9b\xed\xa0\xff\", \"threads\": 1, \"sync_objects\": 0, "
           "\"pm_regions\": []}");
     }},
    {"MetadataNestedDeeply", "it is nested too deeply",
     [](TraceBuilder& builder) {
       builder.external(1);
       builder.metadata("{\"more\": " + std::string(5000, '[') + std::string(5000, ']') + "}");
     }},
    {"ObjectsThatNobodyUses", "counts more synchronisation objects than the file has bytes",
     [](TraceBuilder& builder) {
       builder.external(1);
       builder.metadata(
           R"({"program": "p", "threads": 1, "sync_objects": 268435456, "pm_regions": []})");
     }},
    {"SitesOutOfNothing", "the site table is too long",
     [](TraceBuilder& builder) {
       builder.external(1);
       builder.site(SiteKind::kLoad, 8, 1, {}, {}, 0, 0, {std::string(1u << 20, 'x'), "test", 1});
     }},
    {"MetadataWithoutProgram", "the metadata are invalid",
     [](TraceBuilder& builder) {
       builder.external(1);
       builder.metadata(R"({"threads": 1, "sync_objects": 0, "pm_regions": []})");
     }},
    {"SeedOfTheWrongType", "\"seed\" is not a number",
     [](TraceBuilder& builder) {
       builder.external(1);
       builder.metadata(
           R"({"program": "", "seed": -1, "threads": 1, "sync_objects": 0, "pm_regions": []})");
     }},
    {"RegionsOfTheWrongType", "\"regions\" is not a number",
     [](TraceBuilder& builder) {
       builder.external(1);
       builder.metadata(
           R"({"program": "", "regions": "x", "threads": 1, "sync_objects": 0, "pm_regions": []})");
     }},
    {"LibrariesOfTheWrongType", "the metadata are invalid",
     [](TraceBuilder& builder) {
       builder.external(1);
       builder.metadata(
           R"({"program": "", "libraries": [1], "threads": 1, "sync_objects": 0, "pm_regions": []})");
     }},
    {"ArgumentsOfTheWrongType", "the metadata are invalid",
     [](TraceBuilder& builder) {
       builder.external(1);
       builder.metadata(
           R"({"program": "", "arguments": [1], "threads": 1, "sync_objects": 0, "pm_regions": []})");
     }},
    {"PartialNotesOfTheWrongType", "the metadata are invalid",
     [](TraceBuilder& builder) {
       builder.external(1);
       builder.metadata(
           R"({"program": "", "partial": "x", "threads": 1, "sync_objects": 0, "pm_regions": []})");
     }},
    {"FlushesOutsidePmOfTheWrongType", "\"asked\" is not a number",
     [](TraceBuilder& builder) {
       builder.external(1);
       builder.metadata(R"({"program": "", "flushes": 1, "flushes_outside_pm": [)"
                        R"({"begin": 0, "end": 1, "flushes": 1, "memory": "heap", "asked": "x"}], )"
                        R"("threads": 1, "sync_objects": 0, "pm_regions": []})");
     }},
    {"FlushesOutsidePmWithoutTheirFile", "the metadata are invalid",
     [](TraceBuilder& builder) {
       builder.external(1);
       builder.metadata(R"({"program": "", "flushes": 1, "flushes_outside_pm": [)"
                        R"({"begin": 0, "end": 1, "flushes": 1, "memory": "file"}], )"
                        R"("threads": 1, "sync_objects": 0, "pm_regions": []})");
     }},
    {"UnrecordedWithoutPlaces", "\"lowest\" is not a list of locations",
     [](TraceBuilder& builder) {
       builder.external(1);
       builder.metadata(R"({"program": "", "unrecorded": {"bytes": 1, "places": 1, "lowest": []}, )"
                        R"("threads": 1, "sync_objects": 0, "pm_regions": []})");
     }},
    {"UnrecordedOfTheWrongType", "the metadata are invalid",
     [](TraceBuilder& builder) {
       builder.external(1);
       builder.metadata(R"({"program": "", "unrecorded": 1, )"
                        R"("threads": 1, "sync_objects": 0, "pm_regions": []})");
     }},
    {"ThreadNotCounted", "operations of a thread that is not in the metadata",
     [](TraceBuilder& builder) { builder.thread(1).external(1); }},
    {"ThreadWithoutOperations", "counts a thread that has no operations",
     [](TraceBuilder& builder) {
       builder.external(1);
       builder.metadata(R"({"program": "p", "threads": 2, "sync_objects": 0, "pm_regions": []})");
     }},
    {"RegionBackwards", "ends before it begins",
     [](TraceBuilder& builder) {
       builder.external(1);
       builder.pm_region(0x2000, 0x1000);
     }},
};

INSTANTIATE_TEST_SUITE_P(Trace, TraceNonsenseTest, testing::ValuesIn(kNonsense),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace pmemsim::trace
