public import BellhopCore
public import YAML

/// Reads YAML nodes by the settings of a connector or an action, and reports every problem at its place.
///
/// Each scalar first goes through a hook, which may replace its text (for example by expanding `${{ env.NAME }}`) or defer it (a template
/// that has a value only when an event is routed).
public struct SettingsReader<Deferred: Sendable> {
    /// The hook's decision about a scalar.
    public enum Reading {
        /// Use this text.
        case text(String)
        /// Use this text, but show it in no message. `name` says where it came from: `` `${{ secret.NAME }}` ``.
        case hidden(String, name: String)
        case deferred(Deferred)
        case refused([Diagnostic])
    }

    /// Takes the scalar, its text (without a block's trailing newline), and its setting.
    public typealias Hook = (_ node: Node, _ text: String, _ setting: Setting) -> Reading

    public private(set) var diagnostics = Diagnostics()

    let file: String
    private let hook: Hook
    private let hidesValues: Bool
    private let checksNumbers: Bool

    /// - Parameters:
    ///   - hidesValues: true for a file that may hold secrets: messages then quote no line of it, and of a key that runs into its value
    ///     only the name. Invalid values of settings that are not secret are still reported.
    ///   - checksNumbers: whether numbers inside JSON must be written as they are used, too. Numbers of fields always must.
    public init(file: String, hidesValues: Bool = false, checksNumbers: Bool = false, hook: @escaping Hook) {
        (self.file, self.hook, self.hidesValues, self.checksNumbers) = (file, hook, hidesValues, checksNumbers)
    }

    /// Reads a mapping. `subject` names the settings' owner in messages: ``connection `snow` ``. Keys in `others` are skipped.
    public mutating func read(
        _ node: Node, as settings: [Setting], of subject: String, besides others: Set<String> = []
    ) -> SettingsTree<Deferred> {
        record(node, settings, of: subject, besides: others)
    }

    public mutating func read(_ node: Node, as setting: Setting) -> SettingsTree<Deferred>? {
        value(node, setting.type, setting)
    }

    /// Adds a problem found elsewhere, so that all are reported together.
    public mutating func report(_ diagnostic: Diagnostic) { diagnostics.report(diagnostic) }

    public mutating func report(_ others: Diagnostics) { diagnostics.report(others) }

    /// A key as messages show it: if values are hidden, only the name of a key that runs into its value (`password:x`).
    public func shown(_ key: String) -> String {
        let name = key.prefix { $0.isLetter || $0.isNumber || "_-.".contains($0) }
        return hidesValues && name.endIndex < key.endIndex && !name.isEmpty ? name + "…" : key
    }

    public mutating func report(code: String, _ message: String, at node: Node, help: String? = nil) {
        diagnostics.report(Diagnostic(code: code, message, at: Diagnostic.Place(node, file: file), help: help))
    }

    private mutating func record(
        _ node: Node, _ settings: [Setting], of subject: String, besides others: Set<String>
    ) -> SettingsTree<Deferred> {
        guard let mapping = node.mapping else {
            if !(node.isNull && settings.allSatisfy { !$0.required }) {
                report(
                    code: "wrong-type", "\(subject) must be a mapping, not \(node.kind)", at: node,
                    help: Self.needed(settings).map { "write `{\($0)}`" } ?? Self.listing(settings.map(\.name)))
            }
            return .members([])
        }
        let names = settings.map(\.name)
        var members: [(name: String, value: SettingsTree<Deferred>)] = []
        let outdented = outdented(in: mapping, settings, besides: others)
        let others = outdented.reduce(others) { $0.union($1.names).union([$1.head.name]) }
        // The settings that unknown keys probably mean: they are not missing too.
        var meant: Set<String> = []
        for pair in mapping where !others.contains(pair.name) {
            guard let setting = settings.first(where: { $0.name == pair.name }) else {
                let close = Suggestion.closest(to: pair.name, among: names + others)
                let other = close == nil ? Self.meant(by: pair.name, among: names) : nil
                meant.formUnion([close, other].compactMap { $0 })
                let help = close.map { "did you mean `\($0)`?" } ?? other.map { "write `\($0)`" } ?? Self.listing(names)
                report(code: "unknown-key", "\(subject) has no setting `\(shown(pair.name))`", at: pair.key, help: help)
                continue
            }
            if let value = value(pair.value, setting.type, setting) { members.append((pair.name, value)) }
        }
        for setting in settings where mapping[setting.name] == nil {
            if setting.required, !meant.contains(setting.name) {
                report(code: "missing-key", "\(subject) needs `\(setting.name)`", at: node, help: setting.help)
            }
            if let text = setting.fallback, let value = try? setting.type.value(of: text) {
                members.append((setting.name, .value(value)))
            }
        }
        return .members(members)
    }

    /// Empty keys whose contents are not indented under them.
    private mutating func outdented(in mapping: Mapping, _ settings: [Setting], besides others: Set<String>) -> [Outdented] {
        guard mapping.contains(where: { $0.value.scalar?.isAbsent == true }) else { return [] }
        let taken = others.union(settings.map(\.name))
        return mapping.compactMap { pair in
            guard let inner = settings.first(where: { $0.name == pair.name })?.type.members.map(\.name),
                let found = Outdented(pair, in: mapping, belongs: { !taken.contains($0.name) && inner.contains($0.name) })
            else { return nil }
            report(found.diagnostic(file: file, hidesValues: hidesValues))
            return found
        }
    }

    private mutating func value(_ node: Node, _ type: SettingType, _ setting: Setting) -> SettingsTree<Deferred>? {
        switch type {
        case .record(let settings):
            if let later = deferral(node, type, setting) { return later }
            guard node.mapping != nil else { return mismatch(node, type, setting, help: Self.form(of: settings, node, setting)) }
            return record(node, settings, of: "`\(setting.name)`", besides: [])
        case .map(let element):
            if let later = deferral(node, type, setting) { return later }
            guard let mapping = node.mapping else { return mismatch(node, type, setting) }
            for pair in mapping {
                guard let reason = setting.refusedNames[pair.name.lowercased()] else { continue }
                report(code: "refused-name", "`\(setting.name)` cannot set `\(pair.name)`: \(reason)", at: pair.key)
            }
            return .members(mapping.compactMap { pair in value(pair.value, element, setting).map { (pair.name, $0) } })
        case .list(let element):
            if let later = deferral(node, type, setting) { return later }
            guard let items = node.items else { return value(node, element, setting).map { .list([$0]) } }
            return .list(items.compactMap { value($0, element, setting) })
        case .either(let types): return either(node, types, setting)
        case .json: return json(node, setting)
        case .scalar: return scalar(node, setting)
        case .text, .secret, .name, .integer, .number, .boolean, .duration, .size, .rate, .oneOf, .address, .target, .path,
            .markdown, .expression:
            guard let scalar = node.scalar else { return mismatch(node, type, setting) }
            if scalar.isAbsent { return absent(node, setting) }
            return read(scalar, node, type, setting)
        }
    }

    /// A text in place of a whole list or mapping, if the hook defers it.
    private func deferral(_ node: Node, _ type: SettingType, _ setting: Setting) -> SettingsTree<Deferred>? {
        guard let scalar = node.scalar, !scalar.isAbsent else { return nil }
        var whole = setting
        whole.type = type
        guard case .deferred(let value) = hook(node, scalar.meantText, whole) else { return nil }
        return .deferred(value)
    }

    private mutating func either(_ node: Node, _ types: [SettingType], _ setting: Setting) -> SettingsTree<Deferred>? {
        let fitting = types.filter { $0.fits(node) }
        guard let last = fitting.last else { return mismatch(node, .either(types), setting) }
        for type in fitting.dropLast() {
            var trial = SettingsReader(file: file, hidesValues: hidesValues, checksNumbers: checksNumbers, hook: hook)
            let result = trial.value(node, type, setting)
            if result != nil, trial.diagnostics.all.isEmpty { return result }
        }
        return value(node, last, setting)
    }

    private mutating func json(_ node: Node, _ setting: Setting) -> SettingsTree<Deferred>? {
        switch node.content {
        case .sequence(let items): return .list(items.compactMap { json($0, setting) })
        case .mapping(let mapping):
            return .members(mapping.compactMap { pair in json(pair.value, setting).map { (pair.name, $0) } })
        case .scalar(let scalar):
            if checksNumbers { checkNumber(scalar, node) }
            switch scalar.value {
            case .null: return .value(.null)
            case .bool(let value): return .value(.bool(value))
            case .int(let value): return .value(.int(value))
            case .float(let value): return .value(.double(value))
            case .string: return read(scalar, node, .json, setting)
            }
        }
    }

    private mutating func scalar(_ node: Node, _ setting: Setting) -> SettingsTree<Deferred>? {
        guard let scalar = node.scalar else { return mismatch(node, .scalar, setting) }
        if scalar.isAbsent { return mismatch(node, .scalar, setting, "`\(setting.name)` has no value; `\"\"` is an empty one") }
        guard case .string = scalar.value else {
            let value = json(node, setting)
            if !checksNumbers { checkNumber(scalar, node) }
            return value
        }
        return read(scalar, node, .scalar, setting)
    }

    /// Refuses a number that is not used as it is written: the postal code `01067` as 1067, the version `1.10` as 1.1.
    private mutating func checkNumber(_ scalar: Scalar, _ node: Node) {
        let number: JSON
        switch scalar.value {
        case .int(let value): number = .int(value)
        case .float(let value) where value.isFinite: number = .double(value)
        case .null, .bool, .float, .string: return
        }
        if number.text == scalar.text { return }
        report(
            code: "number-form", "YAML reads `\(scalar.text)` as the number \(number.text)", at: node,
            help: "write `\"\(scalar.text)\"` for the text, or `\(number.text)` for the number")
    }

    private mutating func read(
        _ scalar: Scalar, _ node: Node, _ type: SettingType, _ setting: Setting
    ) -> SettingsTree<Deferred>? {
        var leaf = setting
        leaf.type = type
        switch hook(node, scalar.meantText, leaf) {
        case .deferred(let value): return .deferred(value)
        case .refused(let problems):
            diagnostics.all += problems
            return nil
        case .hidden(let text, let name):
            guard let value = try? type.value(of: text) else {
                report(code: "wrong-value", "the value of \(name) is not \(type.wanted)", at: node)
                return nil
            }
            guard let problem = leaf.problem(of: value, shown: "the value of \(name)") else { return .value(value) }
            report(code: problem.code, problem.message, at: node, help: problem.help)
            return nil
        case .text(let text):
            if type == .boolean, [.singleQuoted, .doubleQuoted].contains(scalar.style), text == scalar.text,
                let value = try? type.value(of: text)
            {
                report(
                    code: "wrong-type", "`\(setting.name)` must be \(type.wanted), not a text", at: node,
                    help: "write it without quotes: `\(setting.name): \(value.text)`")
                return nil
            }
            do throws(SettingProblem) {
                let value = try type.value(of: text)
                if let problem = leaf.problem(of: value, shown: "`\(text)`") { throw problem }
                return .value(value)
            } catch {
                // A range refers to the written text; after a replacement by the hook it is meaningless.
                let range = text == scalar.text ? error.range : nil
                let place = range.map { Diagnostic.Place(node, utf8: $0, file: file) } ?? Diagnostic.Place(node, file: file)
                diagnostics.report(Diagnostic(code: error.code, error.message, at: place, help: error.help))
                return nil
            }
        }
    }

    private mutating func mismatch(
        _ node: Node, _ type: SettingType, _ setting: Setting, _ message: String? = nil, help: String? = nil
    ) -> SettingsTree<Deferred>? {
        report(code: "wrong-type", message ?? "`\(setting.name)` must be \(type.wanted), not \(node.kind)", at: node, help: help)
        return nil
    }

    /// The correct form of a value written in place of a mapping: ``write `coalesce: {above: 5}` `` or ``write `list: {of: …, as: …}` ``.
    private static func form(of settings: [Setting], _ node: Node, _ setting: Setting) -> String? {
        guard settings.count == 1 else {
            return needed(settings).map { "write `\(setting.name): {\($0)}`" } ?? listing(settings.map(\.name))
        }
        guard let text = node.scalarText, let value = try? settings[0].type.value(of: text),
            settings[0].type != .secret
        else { return nil }
        return "write `\(setting.name): {\(settings[0].name): \(value.text)}`"
    }

    /// A key without a value: a `#` may have turned it into a comment.
    private mutating func absent(_ node: Node, _ setting: Setting) -> SettingsTree<Deferred>? {
        guard let comment = node.trailingComment, comment.text.dropFirst().first.map({ $0 != " " }) ?? false, !hidesValues
        else { return mismatch(node, setting.type, setting, "`\(setting.name)` has no value") }
        let word = comment.text.prefix { $0 != " " }
        let help =
            setting.name == "to"
            ? "`to` names a connection of bellhop.yaml, not a channel" : "put it in quotes: `\(setting.name): \"\(word)\"`"
        report(code: "cut-by-comment", "`\(setting.name)` has no value: YAML reads `\(word)` as a comment", at: node, help: help)
        return nil
    }

    /// The settings that a mapping must have: `of: …, as: …`.
    private static func needed(_ settings: [Setting]) -> String? {
        let needed = settings.filter(\.required).map { "\($0.name): …" }
        return needed.isEmpty ? nil : needed.joined(separator: ", ")
    }

    /// The setting that another program's word means.
    private static func meant(by word: String, among names: [String]) -> String? {
        let words = [
            "body": ["json", "text"], "message": ["text"], "content": ["text"], "description": ["text"], "subject": ["title"],
            "summary": ["title"], "headline": ["title"], "channel": ["to"], "recipient": ["to"], "recipients": ["to"],
            "receiver": ["to"], "priority": ["severity"], "level": ["severity"], "in": ["within", "after"],
        ]
        return words[word]?.first(where: names.contains)
    }

    private static func listing(_ names: [String]) -> String? { names.isEmpty ? nil : "use " + names.quotedList }
}

extension SettingsReader where Deferred == Never {
    /// A reader that takes every scalar as written.
    public init(file: String) { self.init(file: file) { _, text, _ in .text(text) } }

    /// Reads a mapping to settings; see ``read(_:as:of:besides:)``.
    public mutating func settings(
        _ node: Node, as settings: [Setting], of subject: String, besides others: Set<String> = []
    ) -> Settings {
        Settings(read(node, as: settings, of: subject, besides: others).json?.asObject ?? [:])
    }

    /// Reads each mapping of a list, or the only one. Leaves out those with mistakes, without a report: the list's own setting is checked
    /// with the settings around it.
    public static func items(
        of node: Node?, as settings: [Setting], of subject: String, file: String
    ) -> [(values: Settings, node: Node)] {
        guard let node else { return [] }
        return (node.items ?? [node]).compactMap { item in
            guard item.mapping != nil else { return nil }
            var reader = Self(file: file)
            let values = reader.settings(item, as: settings, of: subject)
            return reader.diagnostics.hasErrors ? nil : (values: values, node: item)
        }
    }
}

extension Setting {
    /// The suggestion if the setting is missing.
    fileprivate var help: String {
        if let example { return "write `\(example)`" }
        if case .oneOf(let names) = type, names.count == 1 { return "write `\(name): \(names[0])`" }
        return summary
    }
}

extension Scalar {
    /// Nothing was written at all.
    var isAbsent: Bool { style == .plain && text.isEmpty }

    /// The scalar's text, without a block's trailing newline.
    var meantText: String {
        switch style {
        case .literal, .folded: text.hasSuffix("\n") ? String(text.dropLast()) : text
        case .plain, .singleQuoted, .doubleQuoted: text
        }
    }
}
