/// How large a message to Slack may be, in code points unless it says otherwise.
///
/// From the Block Kit reference, where it states any. The limit on all blocks together is undocumented: Slack refuses with
/// `msg_blocks_too_long` from about 13,200 on, counting more than the text, and has refused rich text messages with 11,300
/// characters of text. So the text stays well below, and each element has an overhead.
enum SlackLimits {
    static let blocks = 50
    static let header = 150
    /// For a title too long for the header, the text, and the fields together. A section's limit, although none is documented for
    /// rich text.
    static let section = 3000
    static let fieldName = 150
    static let fieldValue = 2000
    static let item = 1000
    static let context = 500
    static let buttonLabel = 75
    /// In bytes.
    static let address = 3000
    /// The `text` beside the blocks; up to 40,000 are allowed, fewer than 4,000 recommended.
    static let fallback = 3500
    /// All text in blocks.
    static let total = 10_000
    /// The overhead of an element.
    static let element = 20
}
