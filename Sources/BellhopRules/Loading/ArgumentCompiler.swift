import BellhopCore
import CEL
import YAML

/// A string under `do` that has not been compiled yet.
struct RawArgument: Sendable {
    var node: YAML.Node
    var text: String
    var type: SettingType
    var name: String
}

/// Compiles the strings under `do` into templates.
struct ArgumentCompiler {
    typealias Tree = SettingsTree<RawArgument>

    /// Defers templates, Markdown and expressions; names are read at once.
    static func hook(file: String) -> SettingsReader<RawArgument>.Hook {
        { node, text, setting in
            let raw = RawArgument(node: node, text: text, type: setting.type, name: setting.name)
            if RuleKeys.isLiteral(setting) { return .text(text) }
            if setting.type == .expression { return .deferred(raw) }
            guard TemplateText.isTemplate(text) else { return setting.type == .markdown ? .deferred(raw) : .text(text) }
            if let cut = node.cutByComment() { return .refused([Diagnostic(cut, in: node.source, file: file)]) }
            switch setting.type {
            case .record, .map, .list:
                // A text can replace a whole list or mapping only if it is a single template, which keeps its type.
                let isWhole = (try? TemplateText(text))?.whole != nil
                return isWhole ? .deferred(raw) : .text(text)
            case .text, .scalar, .secret, .name, .integer, .number, .boolean, .duration, .size, .rate, .oneOf, .address, .target,
                .path, .json, .either, .markdown, .expression:
                return .deferred(raw)
            }
        }
    }

    /// The argument as a template; nil if it has errors.
    static func compile(_ tree: Tree, with compiler: inout ExpressionCompiler) -> ArgumentTemplate? {
        if let value = tree.json { return .constant(value) }
        switch tree {
        case .value(let value): return .constant(value)
        case .deferred(let raw): return compile(raw, with: &compiler)
        case .list(let items):
            let compiled = items.compactMap { compile($0, with: &compiler) }
            return compiled.count == items.count ? .list(compiled) : nil
        case .members(let members):
            let compiled = members.compactMap { member in
                compile(member.value, with: &compiler).map { (name: member.name, value: $0) }
            }
            return compiled.count == members.count ? .members(compiled) : nil
        }
    }

    private static func compile(_ raw: RawArgument, with compiler: inout ExpressionCompiler) -> ArgumentTemplate? {
        guard let template = template(raw, &compiler) else { return nil }
        if let (text, range) = template.whole {
            guard let (expression, _) = compiler.compile(text, at: range.lowerBound, of: raw.node, "`\(raw.name)`") else {
                return nil
            }
            return .whole(expression, raw.type)
        }
        return text(template, raw, &compiler).map { .text($0, raw.type) }
    }

    static func text(_ tree: Tree?, with compiler: inout ExpressionCompiler) -> TextTemplate? {
        switch tree {
        case .value(let value)?: return TextTemplate(pieces: [.text(value.plainText)])
        case .deferred(let raw)?: return template(raw, &compiler).flatMap { text($0, raw, &compiler) }
        case .list(let items)? where items.count == 1: return text(items[0], with: &compiler)
        case .list?, .members?, nil: return nil
        }
    }

    private static func text(_ template: TemplateText, _ raw: RawArgument, _ compiler: inout ExpressionCompiler) -> TextTemplate?
    {
        var pieces: [TextTemplate.Piece] = []
        for piece in template.pieces {
            switch piece {
            case .text(let text): pieces.append(.text(text))
            case .expression(let text, let range):
                if let (value, _) = compiler.compile(text, at: range.lowerBound, of: raw.node, "`\(raw.name)`") {
                    pieces.append(.value(value))
                }
            }
        }
        return pieces.count == template.pieces.count ? TextTemplate(pieces: pieces) : nil
    }

    /// A Markdown text. Only the rule's own text is parsed as markup.
    static func markdown(_ tree: Tree?, with compiler: inout ExpressionCompiler) -> MarkdownText? {
        guard let text = text(tree, with: &compiler) else { return nil }
        var units: [MarkdownTemplate.Unit] = []
        var values: [RuleExpression] = []
        for piece in text.pieces {
            switch piece {
            case .text(let text): units += text.unicodeScalars.map(MarkdownTemplate.Unit.scalar)
            case .value(let value):
                units.append(.hole(values.count))
                values.append(value)
            }
        }
        return MarkdownText(markdown: MarkdownTemplate(units), values: values)
    }

    private static func template(_ raw: RawArgument, _ compiler: inout ExpressionCompiler) -> TemplateText? {
        do throws(TemplateText.Problem) {
            return try TemplateText(raw.text)
        } catch {
            let place = Diagnostic.Place(raw.node, utf8: error.range, file: compiler.file)
            compiler.problems.report(Diagnostic(code: error.code, error.message, at: place, help: error.help))
            return nil
        }
    }
}
