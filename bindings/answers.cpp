// pmemsim._core's images that a program's reader answers.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "checker.hpp"
#include "pmemsim/checks/answers/answer_check.hpp"
#include "pmemsim/checks/answers/operations.hpp"
#include "pmemsim/trace/source_place.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

using answers::AnswerCheck;

// Calls of functions with these names, or regions.
std::vector<answers::ProgramOperation> operations_of(
    const trace::TraceFile& trace, const std::optional<std::vector<std::string>>& functions) {
  if (!functions) return answers::regions_of(trace);
  return answers::calls_of(trace, [&](std::string_view name) {
    return std::ranges::find(*functions, name) != functions->end();
  });
}

class AnswerImages {
 public:
  AnswerImages(const trace::TraceFile& trace, bool eadr, std::uint64_t seed, std::uint64_t most,
               const CheckerCommand& reader, std::size_t jobs,
               const std::optional<std::vector<std::string>>& functions)
      : trace_(trace),
        check_(trace, eadr ? PersistencyRules::kEadr : PersistencyRules::kPx86, seed, most, reader,
               jobs, operations_of(trace, functions)) {}

  // Until so many seconds are over (once one has been shown), or there are no more.
  void show_all(std::optional<double> seconds, const nb::object& progress) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    const CheckerProcess::KeepGoing keep_going = reporter(progress);
    while (check_.show_next(keep_going)) {
      keep_going();
      if (seconds && std::chrono::duration<double>(Clock::now() - begin).count() > *seconds) break;
    }
  }
  std::vector<std::uint64_t> find_wrong(const nb::object& progress) {
    return check_.find_wrong(reporter(progress));
  }
  std::optional<AnswerCheck::Wrong> judge(const nb::object& progress) {
    return check_.judge(reporter(progress));
  }
  answers::Said whole(std::uint64_t order, const nb::object& progress) {
    return check_.whole(order, reporter(progress));
  }

  const trace::TraceFile& trace() const { return trace_; }
  AnswerCheck& check() { return check_; }
  const AnswerCheck& check() const { return check_; }

 private:
  CheckerProcess::KeepGoing reporter(const nb::object& progress) const {
    return seldom([&] { report(progress, static_cast<double>(check_.answered())); });
  }

  const trace::TraceFile& trace_;
  AnswerCheck check_;
};

// How it ended, with which status, what it said last, and what it printed.
nb::tuple to_tuple(const answers::Said& said) {
  return nb::make_tuple(name_of(said.answer.ending), said.answer.status,
                        nb::bytes(said.answer.said.data(), said.answer.size),
                        nb::bytes(said.printed.data(), said.printed.size()));
}

nb::object judge(AnswerImages& images, const nb::object& progress) {
  std::optional<AnswerCheck::Wrong> wrong;
  {
    nb::gil_scoped_release release;
    wrong = images.judge(progress);
  }
  if (!wrong) return nb::none();
  nb::list executing;
  for (const std::size_t index : wrong->stretch.executing) {
    const answers::TimedOperation& each = images.check().stretches().operations()[index];
    executing.append(nb::make_tuple(each.what.thread, each.what.name, each.number));
  }
  nb::dict entry;
  entry["got"] = to_tuple(wrong->got);
  entry["executing"] = executing;
  entry["ended"] = wrong->stretch.ended;
  entry["set_up"] = wrong->stretch.set_up;
  entry["allowed"] = wrong->allowed;
  entry["moment"] = wrong->moment;
  return entry;
}

nb::tuple whole(AnswerImages& images, std::uint64_t order, const nb::object& progress) {
  answers::Said said;
  {
    nb::gil_scoped_release release;
    said = images.whole(order, progress);
  }
  return to_tuple(said);
}

nb::dict piece(const AnswerImages& images, std::uint64_t order) {
  const answers::History::Piece& piece = images.check().history().piece(order);
  const trace::SourcePlace place = trace::place_of(images.trace().sites(), piece.site);
  nb::dict entry;
  entry["file"] = place.file;
  entry["line"] = place.line;
  entry["function"] = place.function;
  entry["thread"] = piece.thread;
  entry["operation"] = piece.number;
  entry["seen"] = order <= images.check().images().images().model().newest_order();
  return entry;
}

// Each a tuple of name, calls, operations where it was inlined, stores to PM, and depth.
nb::list uses_of_functions(const trace::TraceFile& trace) {
  std::vector<answers::Uses> found;
  {
    nb::gil_scoped_release release;
    found = answers::uses_of_functions(trace);
  }
  nb::list all;
  for (const answers::Uses& uses : found) {
    all.append(nb::make_tuple(uses.name, uses.calls, uses.inlined, uses.stores, uses.depth));
  }
  return all;
}

}  // namespace

void bind_answers(nb::module_& module) {
  const auto released = nb::call_guard<nb::gil_scoped_release>();
  nb::class_<AnswerImages>(module, "AnswerImages")
      .def(nb::init<const trace::TraceFile&, bool, std::uint64_t, std::uint64_t,
                    const CheckerCommand&, std::size_t,
                    const std::optional<std::vector<std::string>>&>(),
           nb::arg("trace"), nb::arg("eadr"), nb::arg("seed"), nb::arg("most"), nb::arg("reader"),
           nb::arg("jobs"), nb::arg("functions").none(), nb::keep_alive<1, 2>(), released)
      .def("show_all", &AnswerImages::show_all, nb::arg("seconds").none(),
           nb::arg("progress").none(), released)
      .def("find_wrong", &AnswerImages::find_wrong, nb::arg("progress").none(), released)
      .def("judge", &judge, nb::arg("progress").none())
      .def("whole", &whole, nb::arg("order"), nb::arg("progress").none())
      .def(
          "go_to",
          [](AnswerImages& images, std::uint64_t number) {
            return images.check().images().go_to(number);
          },
          nb::arg("number"), released)
      .def(
          "story", [](const AnswerImages& images) { return images.check().images().story(); },
          released)
      .def("losses",
           [](const AnswerImages& images) {
             std::vector<std::uint64_t> numbers;
             for (const Line line : images.check().images().lost_lines()) {
               numbers.push_back(line.number);
             }
             return numbers;
           })
      .def(
          "bring_back",
          [](AnswerImages& images, const std::vector<std::uint64_t>& losses) {
            images.check().images().bring_back(losses, true);
          },
          nb::arg("losses"))
      .def(
          "lose_again",
          [](AnswerImages& images, const std::vector<std::uint64_t>& losses) {
            images.check().images().bring_back(losses, false);
          },
          nb::arg("losses"))
      .def(
          "lost",
          [](const AnswerImages& images, std::uint64_t moment) {
            return images.check().lost(moment);
          },
          nb::arg("moment"))
      .def("newest", [](const AnswerImages& images) { return images.check().newest(); })
      .def("piece", &piece, nb::arg("order"))
      .def_prop_ro("number",
                   [](const AnswerImages& images) { return images.check().images().number(); })
      .def_prop_ro(
          "possible",
          [](const AnswerImages& images) { return images.check().images().images().possible(); })
      .def_prop_ro(
          "complete",
          [](const AnswerImages& images) { return images.check().images().images().complete(); })
      .def_prop_ro("unjudged", [](const AnswerImages& images) { return images.check().unjudged(); })
      .def_prop_ro("answers_differ",
                   [](const AnswerImages& images) { return images.check().answers_differ(); })
      .def_prop_ro(
          "operations",
          [](const AnswerImages& images) { return images.check().stretches().operations().size(); })
      .def_prop_ro("pieces",
                   [](const AnswerImages& images) { return images.check().history().pieces(); });
  module.def("uses_of_functions", &uses_of_functions, nb::arg("trace"));
  module.attr("IMAGE_OF_ZEROS") = AnswerCheck::kZeros;
}

}  // namespace pmemsim::bindings
