public import BellhopCore

extension Message.Block {
    /// The blocks of a text in the small Markdown of messages.
    public static func read(markdown text: String) -> [Message.Block] {
        MarkdownTemplate(text.unicodeScalars.map(MarkdownTemplate.Unit.scalar)).filled([])
    }
}
