/// How large a message to Slack may be, in code points unless it says otherwise.
///
/// From the Block Kit reference, where that says anything. The bound on all blocks together is nowhere written: Slack refuses with
/// `msg_blocks_too_long` from about 13,200 on, counting more than the words, and has been seen to refuse messages of rich text with
/// 11,300 characters of words. So the words stay well below, and each element counts for more than its words.
enum SlackLimits {
    static let blocks = 50
    static let header = 150
    /// A title too long for the header; the text; the fields together. What a section may hold, though rich text names no bound.
    static let section = 3000
    static let fieldName = 150
    static let fieldValue = 2000
    static let item = 1000
    static let context = 500
    static let buttonLabel = 75
    /// In bytes.
    static let address = 3000
    /// The `text` beside the blocks; 40,000 are allowed, fewer than 4,000 recommended.
    static let fallback = 3500
    /// All that stands in blocks.
    static let total = 10_000
    /// What an element counts for besides its words.
    static let element = 20
}
