import BellhopCore

/// A value in a stored JSON text. It is read in place: to make a tree of values first takes 7 % more of the time of `store.deliveries`.
struct StoredValue {
    private let tape: JSONTape
    private let node: JSONTape.Node

    init(parsing text: [UInt8]) throws(JSONError) {
        tape = try JSONTape(text)
        node = tape.root
    }

    private init(_ tape: JSONTape, _ node: JSONTape.Node) { (self.tape, self.node) = (tape, node) }

    /// The value with everything inside it.
    var json: JSON { tape.value(of: node) }

    var isObject: Bool { tape.kind(of: node) == .object }
    var isTrue: Bool { tape.kind(of: node) == .true }
    var asString: String? { tape.text(of: node) }
    var asInt: Int64? { tape.kind(of: node) == .number ? json.asInt : nil }
    var asArray: [StoredValue]? {
        tape.kind(of: node) == .array ? tape.elements(of: node).map { StoredValue(tape, $0) } : nil
    }

    /// The member with this name; nil if there is none, or this is not an object.
    subscript(name: String) -> StoredValue? { tape.member(name, of: node).map { StoredValue(tape, $0) } }

    /// The name of the first member; nil if there is none, or this is not an object.
    var firstName: String? { tape.firstName(in: node) }
}

/// The members of a stored JSON object. A missing required member throws ``DamagedValue``; unknown members are ignored, so that
/// a form may gain members. A form whose members change their meaning gets a new version: see ``StoredForm``.
struct StoredObject {
    private let value: StoredValue
    private let what: String

    init(_ value: StoredValue, _ what: String) throws(DamagedValue) {
        guard value.isObject else { throw DamagedValue("\(what) is a \(value.json.kindName), not an object") }
        self.value = value
        self.what = what
    }

    subscript(name: String) -> StoredValue? { value[name] }

    var firstName: String? { value.firstName }

    func text(_ name: String) throws(DamagedValue) -> String {
        guard let text = self[name]?.asString else { throw missing(name) }
        return text
    }

    func optionalText(_ name: String) -> String? { self[name]?.asString }

    func int(_ name: String) throws(DamagedValue) -> Int64 {
        guard let number = self[name]?.asInt else { throw missing(name) }
        return number
    }

    /// False if there is no such member.
    func flag(_ name: String) -> Bool { self[name]?.isTrue ?? false }

    func array(_ name: String) throws(DamagedValue) -> [StoredValue] {
        guard let array = self[name]?.asArray else { throw missing(name) }
        return array
    }

    /// The elements of an array; none if there is no such member.
    func elements(_ name: String) -> [StoredValue] { self[name]?.asArray ?? [] }

    func missing(_ name: String) -> DamagedValue { DamagedValue("\(what) has no valid `\(name)`") }
}

/// A value in a row that this program cannot have written.
struct DamagedValue: Error, Sendable, Hashable {
    var problem: String
    /// Whether a newer program wrote it.
    var isNewer: Bool

    init(_ problem: String, isNewer: Bool = false) { (self.problem, self.isNewer) = (problem, isNewer) }
}
