import Foundation

/// The skipped tests of the conformance suite: all need protocol buffer messages, enums, wrappers, extensions or `Any`, which
/// this library does not have. The runner fails for a skipped test that is not listed, and runs a listed one that needs none.
///
/// `skipped.txt` names each skipped test at the time of the last review; a test that is skipped for its area's reason but missing
/// there is reported by name. `BELLHOP_RECORD=1` writes the file again: read the additions.
enum SkipList {
    private static let file = String(describing: #filePath.dropLast("SkipList.swift".count)) + "skipped.txt"

    /// The tests that were skipped at the last review.
    static let known: Set<String> = {
        let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
        return Set(text.split(separator: "\n").map(String.init))
    }()

    static func record(_ names: [String]) throws {
        try names.sorted().map { $0 + "\n" }.joined().write(toFile: file, atomically: true, encoding: .utf8)
    }

    /// The areas of the suite as `file/section/test`, where `*` at the end stands for the rest, with the reason for each.
    static let entries: [(pattern: String, reason: String)] = [
        ("basic/self_eval_nonzeroish/*", "a message evaluates to itself"),
        ("basic/variables/*", "variables that hold messages"),
        ("block_ext/basic/*", "fields of a message as values of a block"),
        ("comparisons/eq_literal/*", "equality of messages, of wrappers, of google.protobuf.Value"),
        ("comparisons/eq_wrapper/*", "equality of wrappers, messages and Any"),
        ("comparisons/ne_literal/*", "inequality of messages, Any and google.protobuf.Value"),
        ("comparisons/bound/*", "equality of variables that hold messages"),
        ("dynamic/*", "wrappers, google.protobuf.Struct, ListValue, Value and Any"),
        ("enums/*", "enums"),
        ("fields/*", "fields of messages"),
        ("namespace/*", "names of messages"),
        ("optionals/optionals/*", "optional fields of messages"),
        ("parse/bytes_literals/*", "fields of messages"),
        ("parse/comments/*", "a message literal between comments"),
        ("parse/nest/*", "message literals in each other"),
        ("parse/repeat/*", "chains of fields of messages"),
        ("parse/selectors/*", "reserved words as fields of messages"),
        ("parse/receiver_function_names/*", "functions of messages"),
        ("parse/struct_field_names/*", "reserved words as fields of messages"),
        ("parse/whitespace/*", "a message literal between blanks"),
        ("plumbing/*", "messages as results"),
        ("proto2/*", "messages of proto2"),
        ("proto2_ext/*", "extensions of messages"),
        ("proto3/*", "messages of proto3"),
        ("string_ext/format/*", "a message as an argument"),
        ("string_ext/format_errors/*", "a message as an argument"),
        ("type_deduction/*", "types of messages, wrappers and their fields"),
        ("type_deductions/*", "types of messages, wrappers and their fields"),
        ("unknowns/*", "messages with unknown fields"),
        ("wrappers/*", "wrappers in messages, Any and JSON"),
    ]

    static func contains(_ test: String) -> Bool {
        entries.contains { pattern, _ in pattern.last == "*" ? test.hasPrefix(pattern.dropLast()) : test == pattern }
    }
}
