import BellhopCore

/// The forms of the JSON that rules and the store itself keep. JSON of the first version states none; JSON of a later one states it as `v`.
///
/// Failures, health and decision records have no version, because a program of another version reads of them what it can. The
/// store keeps events, cursors, field definitions, notes and first messages for other modules, which define their forms.
enum StoredForm: String, CaseIterable {
    case delivery = "a delivery"
    /// All kinds together: waits, windows, sequences, escalations, …
    case ruleState = "a rule's state"
    case silence = "a silence"
    case task = "a task"
    case timer = "a rule's timer"

    /// The version that this program writes. It also reads all older ones.
    var version: Int64 { 1 }

    /// Throws ``DamagedValue`` if this program does not know the version.
    func check(_ json: JSON) throws(DamagedValue) {
        guard let member = json["v"] else { return }
        guard let stated = member.asInt, stated > 0 else { throw DamagedValue("\(rawValue) has no valid `v`") }
        if stated > version {
            throw DamagedValue("\(rawValue) has form \(stated), and this version reads forms up to \(version)", isNewer: true)
        }
    }

    /// JSON of this form, as it must be stored: with the version, unless it is the first.
    func stamp(_ json: JSON) -> JSON { Self.stamp(json, version: version) }

    /// The same for JSON that is already a text.
    func stamp(text: [UInt8]) -> [UInt8] {
        guard version > 1, let json = try? JSON.parse(text) else { return text }
        return stamp(json).encoded()
    }

    static func stamp(_ json: JSON, version: Int64) -> JSON {
        guard version > 1, case .object(var members) = json else { return json }
        members["v"] = .int(version)
        return .object(members)
    }
}
