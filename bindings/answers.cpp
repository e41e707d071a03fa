// Checks of images in pmemsim._core by the answers of a program's reader.
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
#include "pmemsim/trace/source_location.hpp"
#include "record.hpp"

namespace nb = nanobind;

namespace pmemsim::bindings {
namespace {

using answers::AnswerCheck;

// Returns the calls of functions with these names, or the regions if no names are given.
std::vector<answers::CallOrRegion> operations_of(
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

  // Checks images until this number of seconds is over (at least one image), or until the sequence
  // ends.
  void show_all(std::optional<double> seconds, const Progress& progress) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    const CheckerProcess::KeepGoing keep_going = reporter(progress);
    while (check_.show_next(keep_going)) {
      keep_going();
      if (seconds && std::chrono::duration<double>(Clock::now() - begin).count() > *seconds) break;
    }
  }
  std::vector<std::uint64_t> find_wrong(const Progress& progress) {
    return check_.find_wrong(reporter(progress));
  }
  std::optional<AnswerCheck::Wrong> check_image(const Progress& progress) {
    return check_.check_image(reporter(progress));
  }
  answers::Said whole(std::uint64_t order, const Progress& progress) {
    return check_.whole(order, reporter(progress));
  }

  const trace::TraceFile& trace() const { return trace_; }
  AnswerCheck& check() { return check_; }
  const AnswerCheck& check() const { return check_; }

 private:
  CheckerProcess::KeepGoing reporter(const Progress& progress) const {
    return rate_limited([&] { report(progress, static_cast<double>(check_.answered())); });
  }

  const trace::TraceFile& trace_;
  AnswerCheck check_;
};

// An operation that is in progress at a crash.
struct Executing {
  std::uint32_t thread = 0;
  std::string name;
  std::uint64_t number = 0;
};

// The reason why the answer of an image is wrong.
struct Wrong {
  answers::Said got;
  std::vector<Executing> executing;
  std::uint64_t ended;
  bool set_up;
  std::vector<std::uint64_t> allowed;
  std::uint64_t crash_time;
};

std::optional<Wrong> check_image(AnswerImages& images, const Progress& progress) {
  const std::optional<AnswerCheck::Wrong> wrong = images.check_image(progress);
  if (!wrong) return {};
  const answers::Interval& interval = wrong->interval;
  std::vector<Executing> executing;
  for (const std::size_t index : interval.executing) {
    const answers::TimedOperation& each = images.check().intervals().operations()[index];
    executing.push_back({each.what.thread, each.what.name, each.number});
  }
  return Wrong{wrong->got,      std::move(executing), interval.ended,
               interval.set_up, wrong->allowed,       wrong->crash_time};
}

// At most 8 B of a store to a line.
struct Segment {
  trace::SourceLocation place;
  std::uint32_t thread = 0;
  std::uint64_t operation = 0;
  bool seen = false;
};

Segment segment(const AnswerImages& images, std::uint64_t order) {
  const answers::History::Segment& segment = images.check().history().segment(order);
  return {trace::location_of(images.trace().sites(), segment.site), segment.thread, segment.number,
          order <= images.check().images().images().model().newest_order()};
}

void bind_answers_records(nb::module_& module) {
  bind_record<answers::Uses>(
      module, "Uses", "Counts of a function's executions.", field("name", &answers::Uses::name),
      field("calls", &answers::Uses::calls, "Number of calls; 0: the function was only inlined."),
      field("inlined", &answers::Uses::inlined,
            "Number of operations recorded where the function was inlined."),
      field("stores", &answers::Uses::stores,
            "Number of stores to persistent memory, from its calls and their callees."),
      field("depth", &answers::Uses::depth, "Smallest call depth; 0: no calls."));
  nb::class_<answers::Said>(module, "Said", "The answer of a reader.")
      .def_ro("answer", &answers::Said::answer)
      .def_prop_ro("printed", [](const answers::Said& said) {
        return nb::bytes(said.printed.data(), said.printed.size());
      });
  bind_record<Executing>(
      module, "Executing", "An operation that is in progress at a crash.",
      field("thread", &Executing::thread),
      field("name", &Executing::name, "Name of the function; empty for a region."),
      field("number", &Executing::number, "Number among the operations of the same name, from 1."));
  nb::class_<Wrong>(module, "Wrong", "The reason why the answer of an image is wrong.")
      .def_ro("got", &Wrong::got)
      .def_ro("executing", &Wrong::executing)
      .def_ro("ended", &Wrong::ended, "Number of operations that had ended.")
      .def_ro("set_up", &Wrong::set_up, "True if no operation had begun.")
      .def_ro("allowed", &Wrong::allowed,
              "Orders of images without losses whose answers are right.")
      .def_ro("crash_time", &Wrong::crash_time,
              "The first point in time at which the answer is wrong.");
  bind_record<Segment>(
      module, "Segment", "At most 8 B of a store to a line.", field("place", &Segment::place),
      field("thread", &Segment::thread), field("operation", &Segment::operation),
      field("seen", &Segment::seen, "True if the store was visible at the image's instant."));
}

}  // namespace

void bind_answers(nb::module_& module) {
  bind_answers_records(module);
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
      .def("check_image", &check_image, nb::arg("progress").none(), released)
      .def("whole", &AnswerImages::whole, nb::arg("order"), nb::arg("progress").none(), released)
      .def(
          "go_to",
          [](AnswerImages& images, std::uint64_t number) {
            return images.check().images().go_to(number);
          },
          nb::arg("number"), released)
      .def(
          "explanation",
          [](const AnswerImages& images) { return images.check().images().explanation(); },
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
          "restore_losses",
          [](AnswerImages& images, const std::vector<std::uint64_t>& losses) {
            images.check().images().restore_losses(losses, true);
          },
          nb::arg("losses"))
      .def(
          "undo_restore",
          [](AnswerImages& images, const std::vector<std::uint64_t>& losses) {
            images.check().images().restore_losses(losses, false);
          },
          nb::arg("losses"))
      .def(
          "lost",
          [](const AnswerImages& images, std::uint64_t crash_time) {
            return images.check().lost(crash_time);
          },
          nb::arg("crash_time"))
      .def("newest", [](const AnswerImages& images) { return images.check().newest(); })
      .def("segment", &segment, nb::arg("order"))
      .def_prop_ro("number",
                   [](const AnswerImages& images) { return images.check().images().number(); })
      .def_prop_ro("possible",
                   [](const AnswerImages& images) { return images.check().images().possible(); })
      .def_prop_ro("complete",
                   [](const AnswerImages& images) { return images.check().images().complete(); })
      .def_prop_ro("unchecked",
                   [](const AnswerImages& images) { return images.check().unchecked(); })
      .def_prop_ro("answers_differ",
                   [](const AnswerImages& images) { return images.check().answers_differ(); })
      .def_prop_ro(
          "operations",
          [](const AnswerImages& images) { return images.check().intervals().operations().size(); })
      .def_prop_ro("segments",
                   [](const AnswerImages& images) { return images.check().history().segments(); });
  module.def("uses_of_functions", &answers::uses_of_functions, nb::arg("trace"), released);
  module.attr("IMAGE_OF_ZEROS") = AnswerCheck::kZeros;
}

}  // namespace pmemsim::bindings
