import BellhopCore

/// An argument of a step: fixed, or rendered for each event.
indirect enum ArgumentTemplate: Sendable {
    case constant(JSON)
    /// A text with values inserted, read as the argument's type.
    case text(TextTemplate, SettingType)
    /// One `${{ … }}` and nothing else: the value keeps its type.
    case whole(RuleExpression, SettingType)
    case list([ArgumentTemplate])
    case members([(name: String, value: ArgumentTemplate)])

    /// Whether an inserted value determines the host of an address.
    var hasComputedHost: Bool {
        switch self {
        case .text(let text, .address): AddressText.hasComputedHost(text)
        case .whole(_, .address): true
        case .constant, .text, .whole, .list, .members: false
        }
    }

    /// The facts that its expressions need and that are known only at routing.
    var needs: RuleExpression.Needs {
        switch self {
        case .constant: []
        case .text(let text, _): text.needs
        case .whole(let expression, _): expression.needs
        case .list(let items): items.reduce(into: []) { $0.formUnion($1.needs) }
        case .members(let members): members.reduce(into: []) { $0.formUnion($1.value.needs) }
        }
    }
}

extension SettingType {
    /// Whether inserted values are encoded as in an address.
    var isAddress: Bool { self == .address }

    /// Whether inserted values are encoded as in a path below an address.
    var isTarget: Bool {
        if case .either(let types) = self { return types.contains(.target) }
        return self == .target
    }
}

/// A plain text with values inserted.
struct TextTemplate: Sendable {
    enum Piece: Sendable {
        case text(String)
        case value(RuleExpression)
    }

    var pieces: [Piece]

    var needs: RuleExpression.Needs {
        pieces.reduce(into: []) { needs, piece in
            if case .value(let expression) = piece { needs.formUnion(expression.needs) }
        }
    }
}

/// A Markdown text with values inserted.
struct MarkdownText: Sendable {
    var markdown: MarkdownTemplate
    var values: [RuleExpression]

    var needs: RuleExpression.Needs { values.reduce(into: []) { $0.formUnion($1.needs) } }
}

/// A message of a `notify`.
struct MessageTemplate: Sendable {
    /// Its title, text, list and fields.
    var own: Section
    var sections: [Section] = []
    /// Whether nothing is sent if all its lists are empty.
    var skipsEmpty = false
    var severity: ArgumentTemplate?
    var link: Link?
    var mentions: ArgumentTemplate?
    var thread: TextTemplate?
    var update: ArgumentTemplate?
    var resolve: ArgumentTemplate?
    /// Whether the end of an escalation leaves open what the message opens: with `resolve: false`.
    var staysOpen = false

    struct Section: Sendable {
        var title = TextTemplate(pieces: [])
        var text: MarkdownText?
        var list: List?
        var fields: [(name: String, value: TextTemplate)] = []

        var needs: RuleExpression.Needs {
            var needs = title.needs
            for part in [text, list?.item, list?.empty] { needs.formUnion(part?.needs ?? []) }
            needs.formUnion(list?.elements.needs ?? [])
            for field in fields { needs.formUnion(field.value.needs) }
            return needs
        }
    }

    struct List: Sendable {
        var elements: RuleExpression
        var item: MarkdownText
        var most: Int?
        var empty: MarkdownText?
    }

    struct Link: Sendable {
        var label: TextTemplate?
        var address: TextTemplate
    }

    var needs: RuleExpression.Needs {
        var needs = sections.reduce(own.needs) { $0.union($1.needs) }
        for part in [link?.label, link?.address, thread] { needs.formUnion(part?.needs ?? []) }
        for part in [severity, mentions, update, resolve] { needs.formUnion(part?.needs ?? []) }
        return needs
    }
}
