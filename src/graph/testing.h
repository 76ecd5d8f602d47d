// Builds graphs for tests from a few lines.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "graph/evaluate.h"
#include "support/check.h"

namespace kernelsmith {

// Says only what a test is about: the rest of the format is filled in.
class GraphBuilder {
 public:
  using Json = nlohmann::json;

  GraphBuilder& Input(const std::string& name, const Shape& shape,
                      const std::string& dtype = "float64") {
    placeholders_.push_back(
        {{"name", name}, {"role", "input"}, {"shape", shape}, {"dtype", dtype}});
    return *this;
  }
  // args: node names as {"node": ...}, see N().
  GraphBuilder& Node(const std::string& name, const std::string& op, const Json& args,
                     const std::vector<Shape>& shapes, const std::string& dtype = "float64") {
    Json outputs = Json::array();
    for (const Shape& shape : shapes) outputs.push_back({{"shape", shape}, {"dtype", dtype}});
    nodes_.push_back({{"name", name},
                      {"op", op},
                      {"args", args.is_array() ? args : Json::array({args})},
                      {"outputs", outputs}});
    return *this;
  }
  GraphBuilder& Output(const std::string& node, size_t index = 0) {
    outputs_.push_back({{"role", "output"},
                        {"index", outputs_.size()},
                        {"value", {{"node", node}, {"index", index}}}});
    return *this;
  }
  std::string Text() const {
    return Json{{"format", "kernelsmith-graph/1"},
                {"direction", "forward"},
                {"placeholders", placeholders_},
                {"nodes", nodes_},
                {"outputs", outputs_}}
        .dump();
  }
  Graph Build() const {
    Result<Graph> graph = ParseGraph(Text(), "test.json");
    KS_CHECK(graph.ok(), graph.error().message());
    return *std::move(graph);
  }

 private:
  Json placeholders_ = Json::array(), nodes_ = Json::array(), outputs_ = Json::array();
};

inline nlohmann::json N(const std::string& node, size_t index = 0) {
  return {{"node", node}, {"index", index}};
}

}  // namespace kernelsmith
