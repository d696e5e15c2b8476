import BellhopCore

/// The members of a stored JSON object. A missing required member throws ``DamagedValue``; unknown members are ignored, so that
/// a form may gain members. A form whose members change their meaning gets a new version: see ``StoredForm``.
struct StoredObject {
    let members: JSON.Object
    private let what: String

    init(_ json: JSON, _ what: String) throws(DamagedValue) {
        guard case .object(let members) = json else { throw DamagedValue("\(what) is a \(json.kindName), not an object") }
        self.members = members
        self.what = what
    }

    func text(_ name: String) throws(DamagedValue) -> String {
        guard let text = members[name]?.asString else { throw missing(name) }
        return text
    }

    func optionalText(_ name: String) -> String? { members[name]?.asString }

    func int(_ name: String) throws(DamagedValue) -> Int64 {
        guard case .int(let number)? = members[name] else { throw missing(name) }
        return number
    }

    func array(_ name: String) throws(DamagedValue) -> [JSON] {
        guard let array = members[name]?.asArray else { throw missing(name) }
        return array
    }

    func missing(_ name: String) -> DamagedValue { DamagedValue("\(what) has no valid `\(name)`") }
}

/// A value in a row that this program cannot have written.
struct DamagedValue: Error, Sendable, Hashable {
    var problem: String
    /// Whether a newer program wrote it.
    var isNewer: Bool

    init(_ problem: String, isNewer: Bool = false) { (self.problem, self.isNewer) = (problem, isNewer) }
}
