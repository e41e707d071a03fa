// Results for Python: C++ structs as classes with read-only fields.
//
// The fields are declared once, in C++; nanobind generates the stub that gives Python their types.
// A record behaves like a frozen dataclass: its fields determine how it is constructed, compared,
// printed and pickled.
#pragma once

#include <nanobind/nanobind.h>

#include <concepts>
#include <cstdint>
#include <string>

#include "pmemsim/common/units.hpp"

// Times are whole picoseconds in Python, under names that end with _ps.
template <class Time>
  requires std::same_as<Time, pmemsim::Time> || std::same_as<Time, pmemsim::Picoseconds>
struct nanobind::detail::type_caster<Time> {
  NB_TYPE_CASTER(Time, const_name("int"))

  bool from_python(handle source, std::uint32_t /*flags*/, cleanup_list* /*cleanup*/) noexcept {
    return try_cast(source, value.count);
  }
  static handle from_cpp(Time time, rv_policy /*policy*/, cleanup_list* /*cleanup*/) noexcept {
    return PyLong_FromLongLong(time.count);
  }
};

namespace pmemsim::bindings {

template <class Struct, class Value>
struct Field {
  const char* name;  // name in Python
  Value Struct::* member;
  const char* meaning;  // empty if the name is sufficient
};

template <class Struct, class Value>
Field<Struct, Value> field(const char* name, Value Struct::* member, const char* meaning = "") {
  return {name, member, meaning};
}

// Converts a field to JSON; records become objects.
inline nanobind::object to_json(nanobind::handle value) {
  if (nanobind::hasattr(value, "to_dict")) return value.attr("to_dict")();
  if (!nanobind::isinstance<nanobind::list>(value)) return nanobind::borrow(value);
  nanobind::list values;
  for (const nanobind::handle each : value) values.append(to_json(each));
  return values;
}

// Binds a struct as a record whose fields are in this order.
template <class Struct, class... Values>
nanobind::class_<Struct> bind_record(nanobind::handle module, const char* name, const char* meaning,
                                     Field<Struct, Values>... fields) {
  namespace nb = nanobind;
  using Json = nb::typed<nb::dict, nb::str, nb::object>;
  const auto values = [fields...](nb::handle record) {
    return nb::make_tuple(record.attr(fields.name)...);
  };
  nb::class_<Struct> bound(module, name, meaning);
  bound.def(
      "__init__",
      [fields...](Struct* self, const Values&... given) {
        new (self) Struct{};
        ((self->*fields.member = given), ...);
      },
      nb::arg(fields.name)...);
  (bound.def_ro(fields.name, fields.member, fields.meaning), ...);
  bound.def("__eq__", [values](nb::handle self, nb::handle other) {
    return self.type().is(other.type()) && values(self).equal(values(other));
  });
  bound.def("__hash__", [values](nb::handle self) { return nb::hash(values(self)); });
  bound.def("__reduce__",
            [values](nb::handle self) { return nb::make_tuple(self.type(), values(self)); });
  bound.def("__repr__", [values, name](nb::handle self) {
    return std::string(name) + nb::repr(values(self)).c_str();
  });
  bound.def(
      "to_dict",
      [fields...](nb::handle self) {
        Json object;
        ((object[fields.name] = to_json(self.attr(fields.name))), ...);
        return object;
      },
      "The fields by name, as JSON has them.");
  return bound;
}

}  // namespace pmemsim::bindings
