// Sub-operations as one graph: what Janus's Figures 2 and 6 say of them, from the prose of its
// sections 3.1 and 4.2.
#include "pmemsim/designs/backend/operation_graph.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "pmemsim/designs/backend/deduplication.hpp"
#include "pmemsim/designs/backend/encryption.hpp"
#include "pmemsim/designs/backend/integrity.hpp"

namespace pmemsim {
namespace {

using Parts = std::vector<std::vector<SubOperation>>;

std::vector<SubOperation> encryption() { return Encryption({}).sub_operations(); }
std::vector<SubOperation> integrity() { return Integrity({}, 1).sub_operations(); }
std::vector<SubOperation> deduplication() { return Deduplication({}, 1).sub_operations(); }

std::size_t index_of(const OperationGraph& graph, const std::string& name) {
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    if (graph.nodes()[i].sub.name == name) return i;
  }
  ADD_FAILURE() << "there is no " << name;
  return 0;
}

// "A", "D" or "AD".
std::string inputs_of(const OperationGraph& graph, const std::string& name) {
  const Inputs inputs = graph.nodes()[index_of(graph, name)].inputs;
  return std::string(inputs.address ? "A" : "") + (inputs.data ? "D" : "");
}

// True if there is a path from one node to the other.
bool reaches(const OperationGraph& graph, const std::string& from, const std::string& to) {
  if (from == to) return true;
  const NodeSet before = graph.nodes()[index_of(graph, to)].before;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    if ((before >> i & 1) != 0 && reaches(graph, from, graph.nodes()[i].sub.name)) return true;
  }
  return false;
}

bool side_by_side(const OperationGraph& graph, const std::vector<std::string>& some,
                  const std::vector<std::string>& others) {
  for (const std::string& one : some) {
    for (const std::string& other : others) {
      if (reaches(graph, one, other) || reaches(graph, other, one)) return false;
    }
  }
  return true;
}

TEST(OperationGraph, InputsOfSubOperationsMatchTheJanusPaper) {  // 4.2
  const OperationGraph graph({deduplication(), encryption(), integrity()}, Execution::kParallel);
  for (const std::string name : {"E1", "E2"}) EXPECT_EQ(inputs_of(graph, name), "A") << name;
  for (const std::string name : {"D1", "D2"}) EXPECT_EQ(inputs_of(graph, name), "D") << name;
  for (const std::string name : {"E3", "E4", "D3", "D4", "I1", "I2", "I9"}) {
    EXPECT_EQ(inputs_of(graph, name), "AD") << name;
  }
}

TEST(OperationGraph, ParallelSubOperationsMatchTheJanusPaper) {
  const OperationGraph two({deduplication(), encryption()}, Execution::kParallel);
  EXPECT_TRUE(side_by_side(two, {"E1", "E2"}, {"D1", "D2"})) << "3.1, Figure 2a";
  EXPECT_TRUE(side_by_side(two, {"E3"}, {"D4"})) << "the same";
  EXPECT_TRUE(reaches(two, "E1", "D4")) << "the mapping is stored with the counter";
  EXPECT_TRUE(reaches(two, "D2", "E3")) << "duplicates are cancelled";

  const OperationGraph all({deduplication(), encryption(), integrity()}, Execution::kParallel);
  EXPECT_TRUE(side_by_side(all, {"E3", "E4"}, {"I1", "I2", "I9"})) << "4.2";
  EXPECT_TRUE(side_by_side(all, {"E3", "E4"}, {"D3", "D4"})) << "the same";
  EXPECT_TRUE(side_by_side(all, {"I1", "I9"}, {"D3", "D4"})) << "the same";
  EXPECT_TRUE(reaches(all, "E1", "I1") && reaches(all, "D2", "I1")) << "the edges of Figure 6";
}

TEST(OperationGraph, WithoutDeduplicationTheTreeNeedsOnlyTheAddress) {
  const OperationGraph graph({encryption(), integrity()}, Execution::kParallel);
  EXPECT_EQ(inputs_of(graph, "I9"), "A");
  EXPECT_EQ(inputs_of(graph, "E4"), "AD");
  EXPECT_FALSE(reaches(graph, "E2", "I1"));
}

TEST(OperationGraph, SingleOperationDependsOnNoOther) {
  const OperationGraph graph({integrity()}, Execution::kParallel);
  EXPECT_EQ(graph.ready(0, {.address = true}), NodeSet{1} << index_of(graph, "I1"));
  EXPECT_EQ(graph.ready(0, {.data = true}), 0u);
  EXPECT_EQ(graph.ready(0, {.address = true, .data = true}),
            NodeSet{1} << index_of(graph, "I1") | NodeSet{1} << index_of(graph, "E4"));
}

TEST(OperationGraph, SerializedSubOperationsRunInTheConfiguredOrder) {
  const OperationGraph graph({deduplication(), encryption(), integrity()}, Execution::kSerialized);
  const std::vector<std::string> order{"D1", "D2", "D3", "D4", "E1", "E2", "E3", "E4", "I1",
                                       "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I9"};
  const Inputs all{.address = true, .data = true};
  NodeSet done = 0;
  for (const std::string& name : order) {
    const NodeSet next = NodeSet{1} << index_of(graph, name);
    EXPECT_EQ(graph.ready(done, all), next) << name;
    done |= next;
  }
  EXPECT_EQ(done, graph.all());
}

TEST(OperationGraph, CycleOrTooManyNodesIsRejected) {
  const Parts circle{{{.name = "X", .after = {"Y"}}, {.name = "Y", .after = {"X"}}}};
  EXPECT_THROW(OperationGraph(circle, Execution::kParallel), std::logic_error);
  const Parts many(1, std::vector<SubOperation>(65));
  EXPECT_THROW(OperationGraph(many, Execution::kSerialized), std::logic_error);
}

}  // namespace
}  // namespace pmemsim
