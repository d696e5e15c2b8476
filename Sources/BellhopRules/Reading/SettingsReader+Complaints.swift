public import BellhopCore
public import YAML

extension SettingsReader {
    /// Reports what is wrong inside of settings that were read from a node, at its place there.
    public mutating func report(_ complaint: SettingComplaint, in node: Node, _ settings: Settings) {
        var place = node
        var key: Node?
        var value = JSON.object(settings.values)
        for step in complaint.path {
            switch step {
            case .key(let name):
                guard let pair = place.mapping?.first(where: { $0.name == name }) else { continue }
                (place, key) = (pair.value, pair.key)
                value = value[name] ?? .null
            case .index(let index):
                value = value[index] ?? .null
                // A single value stands for a list of one.
                guard let items = place.items, items.indices.contains(index) else { continue }
                (place, key) = (items[index], nil)
            }
        }
        let target = complaint.isAboutKey ? key ?? place : place
        // A range is of the text as it counts, which is as it is written where nothing was put in.
        let isAsWritten = target.scalar.map { value.asString == $0.text } ?? false
        let range = isAsWritten && !complaint.isAboutKey ? complaint.range : nil
        report(
            Diagnostic(
                code: complaint.code, complaint.message,
                at: range.map { Diagnostic.Place(target, utf8: $0, file: file) } ?? Diagnostic.Place(target, file: file),
                help: complaint.help))
    }
}
