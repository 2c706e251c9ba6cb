//! The syntax tree: which tokens of a text are what.
//!
//! ```text
//!  SELECT ?x { ?x a ub:Course }
//!
//!  Unit  Select  Items  Variable  Group  Triples  Variable  Property  Type  Iri      nodes, in preorder
//!  0     1       2      3         4      5        6         7         8     9
//! ```
//!
//! A node is a kind, a range of tokens and the place of the node after its subtree, 16 bytes: children follow
//! their parent, and the next sibling is one step away. Nothing of the text is copied. Blanks and comments lie
//! between tokens, so whoever completes, formats or explains a text has all of it: tree, tokens, text.
//!
//! The parser finishes children before it knows their parent (`a + b` is a sum only at the `+`), so it writes
//! nodes in postorder; one pass at the end turns them round. A node's place in preorder is the number of nodes
//! finished before its subtree, and of its ancestors.

use crate::grammar::lexer::token::{Token, Tokens};
use std::ops::Range;

/// What a node is. Names follow the grammar of SPARQL 1.2 section 19.8 where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeKind {
    /// The whole text: prologue and one query.
    Unit,
    Prefix,
    Base,
    Version,
    Select,
    /// Its `Template` alone where the pattern is the template.
    Construct,
    Template,
    Describe,
    Ask,
    From,
    FromNamed,
    /// What stands after `SELECT` or `DESCRIBE`.
    Items,
    Star,
    Distinct,
    Reduced,
    /// An expression and the variable that it is given to.
    As,
    GroupBy,
    Having,
    OrderBy,
    Ascending,
    Descending,
    Limit,
    Offset,
    /// Variables, then rows.
    Values,
    Row,
    Undef,
    Group,
    Union,
    Optional,
    Minus,
    Graph,
    Service,
    Silent,
    Filter,
    Bind,
    Lateral,
    /// A subject and its properties.
    Triples,
    /// A verb and its objects.
    Property,
    /// An object with its reifiers and annotations.
    Annotated,
    /// `~`, and what it names, if it does.
    Reifier,
    /// `{| |}`: properties.
    Annotation,
    Variable,
    Iri,
    /// `a`.
    Type,
    /// A string with its language or datatype.
    String,
    /// With its sign.
    Number,
    Boolean,
    Label,
    Anonymous,
    Nil,
    Collection,
    /// `[ ]` with properties.
    BlankList,
    TripleTerm,
    /// `<< >>`; its `Reifier` last, if it has one.
    Reified,
    PathAlternative,
    PathSequence,
    PathInverse,
    PathZeroOrMore,
    PathOneOrMore,
    PathZeroOrOne,
    PathNegated,
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
    /// Operands; before each but the first stands its `+` or `-`.
    Sum,
    /// Operands; before each but the first stands its `*` or `/`.
    Product,
    Not,
    Positive,
    Negative,
    Parenthesised,
    /// A builtin, named by its first token.
    Call,
    /// A function named by an IRI, its first child.
    FunctionCall,
    /// An aggregate, named by its first token.
    Aggregate,
    Separator,
    Exists,
    NotExists,
    /// `REGISTER` and the kind of what it registers; the name, then the span of `COMPUTED EVERY`.
    Register,
    /// `ISTREAM` and its like behind a form.
    Relation,
    /// A stream and its window.
    FromStream,
    /// A stream and its window, with its `WindowName` before or behind them.
    FromWindow,
    /// Around the name of a window that is declared.
    WindowName,
    /// The brackets of a window, named by their second token: spans or numbers.
    Extent,
    /// A span of time.
    Span,
    /// A name without brackets or prefix.
    BareName,
    /// `WINDOW`: its name and a group.
    Window,
    /// `STREAM` in a pattern: a name, a window and a group.
    StreamWindow,
    InsertData,
    DeleteData,
    DeleteWhere,
    /// With `With`, `DeleteClause`, `InsertClause`, `From` and `FromNamed` (of `USING`), and its `Group`.
    Modify,
    With,
    DeleteClause,
    InsertClause,
    /// Triples, and graphs with a template.
    Quads,
    Load,
    Clear,
    Drop,
    Create,
    Add,
    Move,
    Copy,
    Default,
    Named,
    All,
}

/// A node: in postorder `link` is the first node of its subtree, in preorder the one after it.
#[derive(Clone, Copy, Debug)]
struct Node {
    kind: NodeKind,
    first: u32,
    end: u32,
    link: u32,
}

/// A node of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Id(u32);

impl Id {
    /// Its first child. Only of a kind that has one.
    pub(crate) fn only(self) -> Id {
        Id(self.0 + 1)
    }
}

/// What the parser has finished.
#[derive(Debug, Default)]
pub(super) struct Builder {
    nodes: Vec<Node>,
}

/// Where a node begins: the nodes and the tokens before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    node: u32,
    token: u32,
}

impl Builder {
    pub(super) fn with_capacity(nodes: usize) -> Builder {
        Builder {
            nodes: Vec::with_capacity(nodes),
        }
    }

    /// Here a node may begin, at this token.
    pub(super) fn mark(&self, token: usize) -> Mark {
        Mark {
            node: self.nodes.len() as u32,
            token: token as u32,
        }
    }

    /// The node of all since the mark, up to and without this token.
    pub(super) fn close(&mut self, mark: Mark, kind: NodeKind, end: usize) {
        self.nodes.push(Node {
            kind,
            first: mark.token,
            end: end as u32,
            link: mark.node,
        });
    }

    /// The tree, whose root was closed last. O(nodes).
    pub(super) fn finish<'t>(self, tokens: &'t Tokens<'t>) -> Tree<'t> {
        let mut nodes = self.nodes.clone();
        // The first nodes of the subtrees around, the outermost first.
        let mut around: Vec<u32> = Vec::with_capacity(16);
        for (at, node) in self.nodes.iter().enumerate().rev() {
            while around.last().is_some_and(|start| *start > at as u32) {
                around.pop();
            }
            let place = node.link + around.len() as u32;
            let len = at as u32 - node.link + 1;
            nodes[place as usize] = Node {
                link: place + len,
                ..*node
            };
            around.push(node.link);
        }
        if let Some(root) = nodes.first() {
            assert_eq!(root.link as usize, nodes.len(), "a tree has one root");
            let is_within = root.first <= root.end && root.end as usize <= tokens.tokens.len();
            assert!(is_within, "a tree is of its tokens");
        }
        Tree { tokens, nodes }
    }
}

/// The tree of a text.
#[derive(Debug)]
pub(crate) struct Tree<'t> {
    pub(crate) tokens: &'t Tokens<'t>,
    nodes: Vec<Node>,
}

impl<'t> Tree<'t> {
    pub(crate) const ROOT: Id = Id(0);

    pub(crate) fn kind(&self, id: Id) -> NodeKind {
        self.nodes[id.0 as usize].kind
    }

    /// Its tokens, by number.
    pub(crate) fn range(&self, id: Id) -> Range<usize> {
        let node = &self.nodes[id.0 as usize];
        node.first as usize..node.end as usize
    }

    /// Its first token.
    pub(crate) fn token(&self, id: Id) -> Token {
        self.tokens.tokens[self.range(id).start]
    }

    /// The text of its first token.
    pub(crate) fn slice(&self, id: Id) -> &'t str {
        self.tokens.slice(self.token(id))
    }

    /// What was read, from its first token to its last.
    pub(crate) fn text(&self) -> &'t str {
        let tokens = &self.tokens.tokens[self.range(Tree::ROOT)];
        let bounds = tokens.first().zip(tokens.last());
        let (first, last) = bounds.map_or((0, 0), |(first, last)| (first.start, last.end));
        &self.tokens.text[first as usize..last as usize]
    }

    /// The text of the token before it.
    pub(crate) fn slice_before(&self, id: Id) -> &'t str {
        let before = self.range(id).start - 1;
        self.tokens.slice(self.tokens.tokens[before])
    }

    /// Its children, in the order of the text.
    pub(crate) fn children(&self, id: Id) -> Children<'_> {
        Children {
            nodes: &self.nodes,
            next: id.0 + 1,
            end: self.nodes[id.0 as usize].link,
        }
    }

    /// Its first child of a kind.
    pub(crate) fn child(&self, id: Id, kind: NodeKind) -> Option<Id> {
        self.children(id).find(|child| self.kind(*child) == kind)
    }

    /// The first node of a kind within its subtree.
    pub(crate) fn within(&self, id: Id, kind: NodeKind) -> Option<Id> {
        let end = self.nodes[id.0 as usize].link;
        (id.0..end).map(Id).find(|id| self.kind(*id) == kind)
    }
}

/// The children of a node.
#[derive(Clone, Debug)]
pub(crate) struct Children<'n> {
    nodes: &'n [Node],
    next: u32,
    end: u32,
}

impl Iterator for Children<'_> {
    type Item = Id;

    fn next(&mut self) -> Option<Id> {
        (self.next < self.end).then(|| {
            let id = Id(self.next);
            self.next = self.nodes[self.next as usize].link;
            id
        })
    }
}
